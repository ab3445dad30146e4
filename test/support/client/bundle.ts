import { build } from "vite";
import { expect } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

/** The packages of React 18 have other names here, because react-dom of each imports "react". */
const REACT_18 = [
  { find: /^react$/, replacement: "react-18" },
  { find: /^react-dom\//, replacement: "react-dom-18/" },
];

/** Bundles an entry into one ES module, as an app's build does. With React: its development build, which has StrictMode's checks. */
export async function bundle(entry: string, react?: 18 | 19): Promise<string> {
  const lib = { entry: `${PROJECT_ROOT}${entry}`, formats: ["es" as const] };
  const built = await build({
    configFile: false,
    root: PROJECT_ROOT,
    logLevel: "error",
    resolve: { alias: react === 18 ? REACT_18 : [] },
    define: react === undefined ? {} : { "process.env.NODE_ENV": '"development"' },
    build: { write: false, minify: false, lib },
  });
  const parts = (Array.isArray(built) ? built : [built]).flatMap((one) => ("output" in one ? one.output : []));
  const [chunk] = parts;
  if (chunk?.type !== "chunk" || parts.length > 1) throw new Error(`${entry} did not become one module.`);
  expect([...chunk.imports, ...chunk.dynamicImports]).toEqual([]);
  return chunk.code;
}
