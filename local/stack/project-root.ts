import { fileURLToPath } from "node:url";

/** The checkout's folder, wherever the command was started. */
export const PROJECT_ROOT = fileURLToPath(new URL("../../", import.meta.url));
