import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseOptions, readNumber, runMain, stopSignals } from "../command-line/run-main.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { brokenLinks } from "./check-links.ts";
import { makeDemo } from "./make-demo.ts";
import { serveSite } from "./serve.ts";
import { writeCopies, writePages } from "./write-pages.ts";

const HELP = `npm run site -- [options]   builds docs, first page, comparison and demo into site/dist

  --base PATH   the folder of the host that the site will be in, such as /keyframe/ (default /)
  --open        then serves it on this machine, until Ctrl-C
  --port N      where (default 54380; 0: any free one)

It starts a throw-away stack, runs the samples of the first page, records the demo's film, and fails at a broken link, a sample that does
not work or an answer that the contract does not have. It needs about a minute.`;

const SITE = import.meta.dirname;
/** Written by each build: what the generator reads, and the site. */
const STAGE = join(SITE, ".pages");
const OUT = join(SITE, "dist");

async function main(): Promise<number> {
  const { base, open, port } = parseOptions({
    args: Deno.args,
    options: {
      base: { type: "string", default: "/" },
      open: { type: "boolean", default: false },
      port: { type: "string", default: "54380" },
    },
  }).values;
  if (!/^\/(.*\/)?$/.test(base)) throw new Error("--base must begin and end with a slash, as /keyframe/ does.");
  const signal = stopSignals();
  await buildSite(base, signal);
  console.log(`${OUT}`);
  if (!open) return 0;
  const server = serveSite(OUT, base, readNumber("port", port, 0, 65_535));
  console.log(`http://127.0.0.1:${server.addr.port}${base}`);
  signal.addEventListener("abort", () => void server.shutdown());
  await server.finished;
  return 0;
}

async function buildSite(base: string, signal: AbortSignal): Promise<void> {
  for (const folder of [STAGE, OUT]) await rm(folder, { recursive: true, force: true });
  const prices = await makeDemo(join(STAGE, "public"), signal);
  const written = await writePages(prices, STAGE);
  await runGenerator(base, signal);
  await writeCopies(written, OUT, base);
  const broken = brokenLinks(OUT, base);
  if (broken.length > 0) throw new Error(`These links lead nowhere:\n${broken.join("\n")}`);
}

/** On Node: on Deno its rendering of pages never ends. */
async function runGenerator(base: string, signal: AbortSignal): Promise<void> {
  const command = new Deno.Command("node", {
    args: [join(PROJECT_ROOT, "node_modules", "vitepress", "bin", "vitepress.js"), "build", SITE],
    env: { KEYFRAME_SITE_BASE: base }, // .vitepress/config.ts reads it
    signal,
    stdout: "piped",
    stderr: "piped",
  });
  const { success, stdout, stderr } = await command.output();
  const said = new TextDecoder();
  if (!success) throw new Error(`The pages could not be built:\n${said.decode(stdout)}${said.decode(stderr)}`);
}

runMain(HELP, main);
