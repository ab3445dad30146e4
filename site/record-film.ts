import { dirname, join } from "node:path";
import { z } from "zod";
import { hasEnded, type KeyframeClient, type Prediction, type Project, type Step } from "../client/index.ts";
import type { Stack } from "../local/stack/start-stack.ts";
import { OPERATIONS } from "../shared/contract/operations/index.ts";
import type { Operation } from "../shared/contract/operations/operation.ts";
import { shrinkPictures } from "./shrink-pictures.ts";
import { slowDown } from "../tools/screenshots/make-data.ts";
import { pause } from "../shared/platform/retry.ts";
import { BASE, type Frame, type Recording } from "./demo/recording.ts";

const STEPS: Step[] = ["first-frame", "last-frame", "video"];
const RUN_MS = 4_000;
const LOOK_MS = 60;
/** What the demo's backend answers by itself. */
const OWN = /^\/(films|projects)($|\/:(filmId|projectId)(\/predictions)?$)|^\/projects\/generate/;

/** Records what the API says of a stack with the film that the demo shows. The files go into a folder. */
export async function record(
  stack: Stack,
  keyframe: KeyframeClient,
  filmId: string,
  folder: string,
): Promise<Recording> {
  const texts = { title: "Lighthouse at noon", textPrompt: "@Mara and @Jon in front of @the lighthouse, at noon" };
  const { projectId } = await keyframe.projects.create({ ...texts, filmId });
  const refused = {
    title: "A prompt that is refused",
    textPrompt: "A sea that is refused [[fault:content_rejected=input]]",
  };
  const { projectId: refusedId } = await keyframe.projects.create(refused);
  const state = await readState(keyframe);
  const answers = await readAnswers(stack, state);
  await slowDown(stack.simulator, RUN_MS);
  const estimates: Partial<Recording["estimates"]> = {};
  const runs: Partial<Recording["runs"]> = { rejected: await recordRun(keyframe, "first-frame", refusedId) };
  for (const step of STEPS) {
    estimates[step] = await keyframe.estimate(step, { projectId });
    runs[step] = await recordRun(keyframe, step, projectId);
  }
  const userId = stack.demoSession.user.id;
  const recordedAt = new Date().toISOString();
  const made = { recordedAt, userId, ...state, answers, estimates, runs } as Recording; // of each step, a line above
  return await storeFiles(made, stack, folder);
}

async function readState(keyframe: KeyframeClient): Promise<Pick<Recording, "projects" | "films" | "predictions">> {
  const listed = await Array.fromAsync(keyframe.projects.each({}));
  const projects = listed.map((one) => OPERATIONS.createProject.answer.parse(one)) as Project[];
  const films = await Array.fromAsync(keyframe.films.each({}));
  const takes = await Promise.all(
    projects.map(({ projectId }) => Array.fromAsync(keyframe.predictions.each(projectId, { hidden: "true" }))),
  );
  return { projects, films, predictions: takes.flat() };
}

/**
 * Every other read of the contract, for each resource that some answer names and each value that a query may have. Throws at an answer that is
 * not in the contract's words.
 */
async function readAnswers({ url, demoSession: session, keys }: Stack, state: object): Promise<Recording["answers"]> {
  const answers: Recording["answers"] = {};
  const headers = {
    authorization: `Bearer ${session.access_token}`,
    apikey: keys.publishableKey,
    "content-type": "application/json",
    "content-profile": "keyframe",
  };
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(url + path, { ...init, headers });
    return answer.ok ? await answer.json() : void (await answer.body?.cancel());
  };
  const idsOf = (name: string) => {
    const text = JSON.stringify([state, answers]);
    return new Set([...text.matchAll(new RegExp(`"${name}":"([^"]+)"`, "g"))].map(([, id = ""]) => id));
  };
  const reads = Object.values<Operation>(OPERATIONS).filter(({ method, at }) => method === "GET" && !OWN.test(at));
  for (const { at, query, answer } of reads) {
    const [, name] = /:(\w+)/.exec(at) ?? [];
    const choices = Object.entries(query?.shape ?? {}).flatMap(([field, schema]) =>
      optionsOf(schema).map((value) => `${field}=${value}`),
    );
    for (const path of name === undefined ? [at] : [...idsOf(name)].map((id) => at.replace(`:${name}`, id))) {
      for (const asked of ["", ...choices]) {
        const read = (await ask(`/functions/v1/api${path}?${asked}`)) as { data: unknown } | undefined;
        if (read) answers[`${path}?${asked}`] = answer.parse(read.data);
      }
    }
  }
  for (const endpoint_id of [undefined, ...idsOf("webhookId")])
    answers[`/rpc/webhook_health?${endpoint_id ?? ""}`] = await ask("/rest/v1/rpc/webhook_health", {
      method: "POST",
      body: JSON.stringify({ endpoint_id }),
    });
  return answers;
}

/** The values of a query's field, if it has a list of them. */
const optionsOf = (schema: unknown): string[] =>
  schema instanceof z.ZodEnum
    ? schema.options.map(String)
    : schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
      ? optionsOf(schema.def.innerType)
      : [];

/** Starts the step and notes each change that a reader sees. */
async function recordRun(keyframe: KeyframeClient, step: Step, projectId: string): Promise<Frame[]> {
  const begun = performance.now();
  let now: Prediction = await keyframe.generate(step, { projectId });
  const frames: Frame[] = [];
  for (let known = ""; ; now = await keyframe.predictions.read(now)) {
    const { output: _, ...seen } = now;
    if (JSON.stringify(seen) !== known)
      frames.push({ afterMs: Math.round(performance.now() - begun), prediction: now });
    known = JSON.stringify(seen);
    if (hasEnded(now)) return frames;
    await pause(LOOK_MS);
  }
}

/** Downloads each file that the recording names to where its address will be, and puts BASE before it. */
async function storeFiles(recording: Recording, { url, demoSession }: Stack, folder: string): Promise<Recording> {
  const json = JSON.stringify(recording);
  const headers = { authorization: `Bearer ${demoSession.access_token}` };
  const save = async (path: string, address: string) => {
    const answer = await fetch(address, { headers });
    if (!answer.ok) throw new Error(`${path} cannot be downloaded: ${answer.status}`);
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.writeFile(join(folder, path), new Uint8Array(await answer.arrayBuffer()));
  };
  for (const [, path = "", token] of new Map(
    [...json.matchAll(/(\/storage\/v1\/object\/sign\/[^"?]+)\?(token=[^"]+)"/g)].map((one) => [one[1], one]),
  ).values())
    await save(path, `${url}${path}?${token}`);
  for (const path of new Set([...json.matchAll(/"(projects\/[^"]+)"/g)].map(([, one = ""]) => one)))
    await save(`/storage/v1/object/sign/${path}`, `${url}/storage/v1/object/authenticated/${path}`);
  const shrunk = await shrinkPictures(json.replaceAll(url, BASE).replaceAll(/\?token=[^"]+/g, ""), folder);
  const endless = (name: string, value: unknown) =>
    name === "expiresAt" && value !== null ? "2100-01-01T00:00:00.000Z" : value;
  return JSON.parse(shrunk, endless) as Recording; // it was one above
}
