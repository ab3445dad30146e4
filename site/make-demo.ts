import { copyFile, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKeyframeClient } from "../client/index.ts";
import { runVite } from "../local/stack/build-dashboard.ts";
import { removeData } from "../local/stack/data-folder.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { type Stack, startStack } from "../local/stack/start-stack.ts";
import { showFilm } from "../tools/demo/show-film.ts";
import { makeDemoData, makeEndpoint } from "../tools/screenshots/make-data.ts";
import { checkBackend } from "./check-backend.ts";
import { record } from "./record-film.ts";
import type { Recording } from "./demo/recording.ts";
import { type Arrived, runSamples, until } from "./samples/run.ts";

const MAX_BYTES = 5_000_000;

/**
 * Builds the dashboard with a backend of its own, from a real run on a throw-away stack, into `demo` of a folder, and the film and its first
 * picture beside it. Returns what a shot costs, as rows of a table.
 */
export async function makeDemo(beside: string, signal: AbortSignal): Promise<string> {
  const folder = join(beside, "demo");
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-site-" });
  const simulator = { startDelayMs: 0, runDelayMs: 0 };
  await mkdir(folder, { recursive: true });
  let recording: Recording;
  try {
    const stack = await startStack({ dataDir, port: 0, durable: false, simulator, signal });
    recording = await recordFilm(stack, beside, signal).finally(() => stack.stop());
  } finally {
    await removeData(dataDir);
  }
  checkBackend(recording);
  await writeFile(join(folder, "recording.json"), JSON.stringify(recording));
  await runVite(["--config", join(import.meta.dirname, "demo", "vite.config.ts"), "--outDir", folder], signal);
  const bytes = await sizeOf(folder);
  if (bytes > MAX_BYTES) throw new Error(`The demo has ${bytes} bytes, more than ${MAX_BYTES}.`);
  await copyPoster(recording, beside);
  return pricesOf(recording);
}

async function recordFilm(stack: Stack, beside: string, signal: AbortSignal): Promise<Recording> {
  const { url, keys, demoSession, databaseUrl } = stack;
  const user = { url, apikey: keys.publishableKey, getToken: () => demoSession.access_token };
  const keyframe = createKeyframeClient(user);
  const arrived: Arrived[] = [];
  const receiver = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const body = await request.text();
    const isEnd = (text: string) => text.includes("generation.succeeded");
    const fails = isEnd(body) && !arrived.some((one) => isEnd(one.body)); // so that one delivery has two attempts
    arrived.push({ headers: request.headers, body });
    return new Response(null, { status: fails ? 503 : 204 });
  });
  try {
    const { filmId, projectId } = await makeDemoData(keyframe, { url, publishableKey: keys.publishableKey, signal });
    await keyframe.projects.delete(projectId); // the film is enough
    await showFilm(keyframe, filmId, (_name, work) => work(), { url, signal, file: join(beside, "film.mp4") });
    const webhookId = await makeEndpoint(keyframe, databaseUrl, `http://127.0.0.1:${receiver.addr.port}/keyframe`);
    const { secret } = await keyframe.webhooks.secret(webhookId);
    await keyframe.keys.create({ name: "Claude Code", may: "generate", dayLimitMicros: 2_000_000 });
    await runSamples({ keyframe, user, databaseUrl, secret, arrived });
    const readPending = () => keyframe.webhooks.deliveries(webhookId, { status: "pending" });
    await until("the second attempt", async () => (await readPending()).deliveries.length === 0);
    return await record(stack, keyframe, filmId, join(beside, "demo"));
  } finally {
    await receiver.shutdown();
  }
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => await stat(join(folder, name))));
  return sizes.reduce((sum, one) => sum + (one.isFile() ? one.size : 0), 0);
}

/** What the default models cost, by the estimates of the run. Throws when README.md says another sum. */
function pricesOf({ estimates }: Recording): string {
  const rows = [
    ["First frame", estimates["first-frame"]],
    ["Last frame", estimates["last-frame"]],
    ["Video of five seconds", estimates.video],
  ] as const;
  const micros = rows.reduce((sum, [, { estimateMicros }]) => sum + (estimateMicros ?? Number.NaN), 0);
  const dollars = (amount: number, digits: number) => `$${(amount / 1e6).toFixed(digits)}`;
  const sum = dollars(micros, 2);
  if (!Deno.readTextFileSync(join(PROJECT_ROOT, "README.md")).includes(`costs ${sum} at Replicate`))
    throw new Error(`A shot costs ${sum} by the shipped prices. README.md says something else.`);
  const lines = rows.map(
    ([name, { model, estimateMicros }]) => `| ${name}, ${model} | ${dollars(estimateMicros ?? 0, 3)} |`,
  );
  return [...lines, `| **A shot** | **${sum}** |`].join("\n");
}

/** The first frame of the film. */
async function copyPoster({ films, predictions }: Recording, beside: string): Promise<void> {
  const [shot] = films.flatMap(({ projectIds }) => projectIds);
  const frame = predictions.find(
    ({ projectId, step, output }) => projectId === shot && step === "first-frame" && output,
  );
  if (!frame?.output) throw new Error("The film has no first frame.");
  await copyFile(join(beside, "demo", new URL(frame.output.url).pathname), join(beside, "film.webp"));
}
