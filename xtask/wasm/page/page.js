// Runs the module: fetches what it asks for, a round at a time, and draws the positions.

const parameters = new URLSearchParams(location.search);
const store = parameters.get("store") ?? "store/";
const bbox = parameters.get("bbox") ?? "";

/** Fetches an object or a part of it: { bytes, start, size }, or null if there is none. */
async function fetchObject({ key, first, length }) {
  const headers = {};
  if (length !== "-") {
    const last = first === "-" ? "" : Number(first) + Number(length) - 1;
    headers.Range = first === "-" ? `bytes=-${length}` : `bytes=${first}-${last}`;
  }
  const path = key.split("/").map(encodeURIComponent).join("/");
  const reply = await fetch(store + path, { headers });
  if (reply.status === 404) return null;
  if (!reply.ok) throw new Error(`${key}: status ${reply.status}`);
  const bytes = new Uint8Array(await reply.arrayBuffer());
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(reply.headers.get("Content-Range") ?? "");
  if (reply.status === 206 && !range) throw new Error(`${key}: a part of unknown place`);
  return range
    ? { bytes, start: Number(range[1]), size: Number(range[2]) }
    : { bytes, start: 0, size: bytes.length };
}

async function read() {
  const { instance } = await WebAssembly.instantiate(await (await fetch("module.wasm")).arrayBuffer());
  const module = instance.exports;
  const put = (bytes) => {
    const at = module.buffer(bytes.length);
    new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
  };
  const take = (length) =>
    new TextDecoder().decode(new Uint8Array(module.memory.buffer, module.buffer(length), length));
  const check = (code) => {
    if (code < 0) throw new Error(take(-code));
    return code;
  };
  put(new TextEncoder().encode(bbox));
  check(module.open(1));
  let rounds = 0;
  let requests = 0;
  for (;;) {
    const length = check(module.step());
    if (length === 0) break;
    const lines = take(length).trimEnd().split("\n");
    const wanted = lines.map((line) => {
      const [, id, first, length, key] = /^(\d+) (\S+) (\S+) (.*)$/.exec(line);
      return { id: Number(id), first, length, key };
    });
    const objects = await Promise.all(wanted.map(fetchObject));
    objects.forEach((object, at) => {
      put(object?.bytes ?? new Uint8Array());
      check(module.answer(wanted[at].id, object?.start ?? 0, object?.size ?? -1));
    });
    rounds += 1;
    requests += wanted.length;
  }
  const rows = module.rows();
  return { rows, rounds, requests, positions: new Float32Array(module.memory.buffer, module.positions(), rows * 3) };
}

/** Draws x and y of all rows; returns how many pixels were drawn. */
function draw(positions) {
  const canvas = document.querySelector("canvas");
  const context = canvas.getContext("2d");
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  for (let at = 0; at < positions.length; at += 3) {
    for (const axis of [0, 1]) {
      low[axis] = Math.min(low[axis], positions[at + axis]);
      high[axis] = Math.max(high[axis], positions[at + axis]);
    }
  }
  const scale = Math.min((canvas.width - 4) / (high[0] - low[0] || 1), (canvas.height - 4) / (high[1] - low[1] || 1));
  context.fillStyle = "#1b5e8c";
  for (let at = 0; at < positions.length; at += 3) {
    const x = (positions[at] - low[0]) * scale;
    const y = (positions[at + 1] - low[1]) * scale;
    context.fillRect(1 + Math.round(x), canvas.height - 3 - Math.round(y), 2, 2);
  }
  const drawn = context.getImageData(0, 0, canvas.width, canvas.height).data;
  return drawn.filter((value, at) => at % 4 === 3 && value > 0).length;
}

/** Shows a text, and sends it to the server of a test. */
async function show(text) {
  document.querySelector("#result").textContent = text;
  if (parameters.has("report")) await fetch("result", { method: "POST", body: text });
}

try {
  const { rows, rounds, requests, positions } = await read();
  const lines = [`rows ${rows}`, `rounds ${rounds}`, `requests ${requests}`, `pixels ${draw(positions)}`];
  if (parameters.has("report")) {
    const text = (value) => (Object.is(value, -0) ? "-0" : String(value));
    for (let at = 0; at < positions.length; at += 3) lines.push(Array.from(positions.subarray(at, at + 3), text).join(" "));
  }
  await show(lines.join("\n"));
} catch (error) {
  await show(`error ${error.message}`);
}
