import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { build, type Plugin } from "vite";

/** In kB of 1,000 bytes. */
export type FunctionSize = {
  /** All modules that it imports, as they are: what the platform's own bundle, an eszip, holds of it. */
  graph: number;
  /** What is left after unused code is taken out and names are shortened. */
  minified: number;
};

/** Bundles a function's index.ts in memory, with the packages from node_modules. */
export async function measureFunctionSize(file: string): Promise<FunctionSize> {
  const modules = new Map<string, number>();
  const count: Plugin = {
    name: "count-modules",
    transform: (code, id) => {
      if (id.startsWith("\0")) return; // the bundler's own
      modules.set(id, new TextEncoder().encode(code).length);
    },
  };
  const made = await build({
    configFile: false,
    root: PROJECT_ROOT,
    logLevel: "silent",
    plugins: [count],
    ssr: { noExternal: true, target: "webworker" },
    build: { ssr: file, write: false, minify: true, target: "es2022", rolldownOptions: { external: /^node:/ } },
  });
  const outputs = [made].flat().flatMap((each) => ("output" in each ? each.output : []));
  const minified = outputs.map((each) => (each.type === "chunk" ? new TextEncoder().encode(each.code).length : 0));
  return { graph: sum([...modules.values()]) / 1000, minified: sum(minified) / 1000 };
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
