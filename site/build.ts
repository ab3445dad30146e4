import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseOptions, readNumber, runMain, stopSignals } from "../command-line/run-main.ts";
import { showStages, write } from "../command-line/show-stages.ts";
import { brokenLinks } from "./check-links.ts";
import { makeDemo } from "./make-demo.ts";
import { serveSite } from "./serve.ts";
import { writeCopies, writePages } from "./write-pages.ts";

const HELP = `npm run site -- [options]   shows guides, API reference, first page and demo on this machine, until Ctrl-C

  --port N       where (default 54380; 0: any free one)
  --only-build   builds them into site/dist, and serves nothing
  --base PATH    the folder of the host that they will be in, such as /keyframe/ (default /)

The build needs about a minute. It starts a throw-away stack, runs the samples of the first page, records the demo's film, and fails at a broken
link, a sample that does not work or an answer that the contract does not have.`;

const SITE = import.meta.dirname;
/** Written by each build: what the generator reads, and the site. */
const STAGE = join(SITE, ".pages");
const OUT = join(SITE, "dist");

async function main(): Promise<number> {
  const {
    base,
    port,
    "only-build": onlyBuild,
  } = parseOptions({
    args: Deno.args,
    options: {
      base: { type: "string", default: "/" },
      port: { type: "string", default: "54380" },
      "only-build": { type: "boolean", default: false },
    },
  }).values;
  if (!/^\/(.*\/)?$/.test(base)) throw new Error("--base must begin and end with a slash, as /keyframe/ does.");
  const where = readNumber("port", port, 0, 65_535);
  const signal = stopSignals();
  await buildSite(base, signal);
  if (onlyBuild) {
    write(`\nThe site is in ${OUT}.\n`);
    return 0;
  }
  const server = serveSite(OUT, base, where);
  write(
    `\nThe site is at http://127.0.0.1:${server.addr.port}${base}, its API reference below api/. Ctrl-C ends it.\n`,
  );
  signal.addEventListener("abort", () => void server.shutdown());
  await server.finished;
  return 0;
}

async function buildSite(base: string, signal: AbortSignal): Promise<void> {
  write("Building the site takes about a minute. Its demo is a film of a throw-away stack.\n\n");
  for (const folder of [STAGE, OUT]) await rm(folder, { recursive: true, force: true });
  const prices = await stage("Demo", () => makeDemo(join(STAGE, "public"), signal));
  const written = await stage("Pages as Markdown", () => writePages(prices, STAGE));
  await stage("Pages", () => runGenerator(base, signal));
  await writeCopies(written, OUT, base);
  const broken = brokenLinks(OUT, base);
  if (broken.length > 0) throw new Error(`These links lead nowhere:\n${broken.join("\n")}`);
}

const display = showStages(write, Deno.stdout.isTerminal());

async function stage<T>(name: string, work: () => Promise<T>): Promise<T> {
  display.onStageStart(name);
  const start = performance.now();
  const done = await work().catch((error) => {
    display.end();
    throw error;
  });
  display.onStage({ name, ms: performance.now() - start });
  return done;
}

/** On Node: on Deno its rendering of pages never ends. */
async function runGenerator(base: string, signal: AbortSignal): Promise<void> {
  const command = new Deno.Command("node", {
    args: [join(SITE, "node_modules", "vitepress", "bin", "vitepress.js"), "build", SITE],
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
