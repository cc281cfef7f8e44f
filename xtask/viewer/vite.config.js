import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { licences } from "./licences.js";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

// Icons that Neuroglancer takes from a commit of ikonate and that its release 1.1.1 does not have.
const icons = {
  "code-alt": here("code.svg"),
  "controls-alt": "ikonate/icons/controls.svg",
  layers: "ikonate/icons/stack.svg",
};

// Decoders of image volumes, which zvf serve does not send: the compiled compresso has parts under the LGPL, and JPEG XL
// alone would be a third of the viewer.
const images = /^.*\/sliceview\/(compresso|jxl|png)\/index\.js$/;

const { collect, emit } = licences(here("."), here("NOTICE"));

export default defineConfig({
  // Relative links: pages of a server with a token lie below it.
  base: "",
  resolve: {
    alias: [
      ...Object.entries(icons).map(([name, replacement]) => ({
        find: new RegExp(`^ikonate/icons/${name}\\.svg`),
        replacement,
      })),
      { find: images, replacement: here("images.js") },
    ],
    // What `zvf serve` sends: precomputed views, and stores as Zarr.
    conditions: [
      "neuroglancer/datasource:none_by_default",
      "neuroglancer/datasource/precomputed:enabled",
      "neuroglancer/datasource/zarr:enabled",
    ],
  },
  plugins: [collect(), emit()],
  worker: { format: "es", plugins: () => [collect()] },
  build: { chunkSizeWarningLimit: 4096, sourcemap: false },
});
