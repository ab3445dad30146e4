import { build } from "vite";
import { expect } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

/** The packages of React 18 have other names here, because react-dom of each imports "react". */
const REACT_18 = [
  { find: /^react(?=$|\/)/, replacement: "react-18" },
  { find: /^react-dom(?=$|\/)/, replacement: "react-dom-18" },
];

type Options = {
  /** The version, in its development build, which has StrictMode's checks. */
  react?: 18 | 19;
  /** The entry's text, instead of a file; "keyframe-client" is this project's. */
  text?: string;
};

/** Bundles an entry into one ES module, as an app's build does. */
export async function bundle(entry: string, { react, text }: Options = {}): Promise<string> {
  const id = `${PROJECT_ROOT}${entry}`;
  const built = await build({
    configFile: false,
    root: PROJECT_ROOT,
    logLevel: "error",
    plugins:
      text === undefined
        ? []
        : [
            {
              name: "text",
              resolveId: (asked) => (asked === id ? id : null),
              load: (asked) => (asked === id ? text : null),
            },
          ],
    resolve: {
      alias: [
        ...(react === 18 ? REACT_18 : []),
        { find: /^keyframe-client$/, replacement: `${PROJECT_ROOT}client/index.ts` },
        { find: /^keyframe-client\/(film|react)$/, replacement: `${PROJECT_ROOT}client/$1.ts` },
      ],
    },
    define: react === undefined ? {} : { "process.env.NODE_ENV": '"development"' },
    build: {
      write: false,
      minify: false,
      lib: { entry: id, formats: ["es" as const] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  const parts = (Array.isArray(built) ? built : [built]).flatMap((one) => ("output" in one ? one.output : []));
  const [chunk] = parts;
  if (chunk?.type !== "chunk" || parts.length > 1) throw new Error(`${entry} did not become one module.`);
  // What is imported on demand is in the module itself.
  expect([...chunk.imports, ...chunk.dynamicImports].filter((name) => name !== chunk.fileName)).toEqual([]);
  return chunk.code;
}
