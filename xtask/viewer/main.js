// Neuroglancer with the state of this server, unless the address has a state of its own.
import "neuroglancer";
import { setupDefaultViewer } from "neuroglancer/unstable/ui/default_viewer_setup.js";

const page = location.origin + location.pathname;
if (["", "#", "#!"].includes(location.hash)) {
  history.replaceState(null, "", `#!${page}state.json`);
}
setupDefaultViewer();
