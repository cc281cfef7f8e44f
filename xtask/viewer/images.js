// In place of Neuroglancer's decoders of compresso, JPEG XL and PNG.
const refuse = (format) => async () => {
  throw new Error(`${format}: this viewer has no decoder`);
};
export const decompressCompresso = refuse("compresso");
export const decompressJxl = refuse("JPEG XL");
export const decompressPng = refuse("PNG");
