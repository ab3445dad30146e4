import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { hasEnded, type KeyframeClient, type KeyframeOptions } from "../../client/index.ts";
import { pause } from "../../shared/platform/retry.ts";
import { makeShot } from "./start.ts";
import { receive } from "./webhook.ts";

/** A request that an endpoint of the user got. */
export type Arrived = { headers: Headers; body: string };

type Options = {
  keyframe: KeyframeClient;
  user: KeyframeOptions;
  databaseUrl: string;
  /** The signing secret of the endpoint at which `arrived` grows. */
  secret: string;
  arrived: Arrived[];
};

/** Runs the samples of the first page. Throws unless each does what the page says. */
export async function runSamples({ keyframe, user, databaseUrl, secret, arrived }: Options): Promise<void> {
  const { projectId, predictionId } = await makeShot(user, () => undefined);
  const ofVideo = () => arrived.find(({ body }) => body.includes(predictionId));
  await until("the video's event", () => ofVideo() !== undefined);
  const request = new Request("http://receiver.invalid", { method: "POST", ...ofVideo() });
  const { status } = await receive(request, secret);
  if (status !== 204) throw new Error(`The sample of a webhook answered ${status}.`);

  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const text = readFileSync(join(import.meta.dirname, "start.sql"), "utf8");
  const [started] = await sql.unsafe(text).finally(() => sql.end({ timeout: 1 }));
  if (started?.length !== 1) throw new Error("The sample in SQL started no first frame.");
  const read = () => keyframe.predictions.list(projectId);
  await until("the end of what SQL started", async () => (await read()).predictions.every(hasEnded));
}

export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`It took too long: ${what}.`);
    await pause(100);
  }
}
