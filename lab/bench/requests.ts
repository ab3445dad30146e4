import type { LoadRequest } from "./load.ts";
import type { Caller } from "./stack.ts";

// The same requests for the API and for the written function, as far as both have them.

const PROMPT = "A harbour at dawn, one red boat";

const headersOf = ({ token, apikey }: Caller) => ({
  authorization: `Bearer ${token}`,
  apikey,
  "content-type": "application/json",
});
const post = (caller: Caller, url: string, body: unknown, status: number): LoadRequest => ({
  method: "POST",
  url,
  headers: headersOf(caller),
  body: JSON.stringify(body),
  status,
});

/** `to`: the API or the written function. */
export const createProject = (to: string, caller: Caller): LoadRequest =>
  post(caller, `${to}/projects`, { title: "Bench", textPrompt: PROMPT }, 201);
/** `count`: of takes; one without it. */
export const startFrame = (api: string, caller: Caller, projectId: string, count?: number): LoadRequest =>
  post(caller, `${api}/projects/generate/first-frame`, { projectId, prompt: PROMPT, count }, 202);
export const startWrittenFrame = (written: string, caller: Caller, projectId: string): LoadRequest =>
  post(caller, `${written}/first-frame`, { projectId, prompt: PROMPT }, 202);
export const storeWrittenFrame = (written: string, caller: Caller, projectId: string): LoadRequest =>
  post(caller, `${written}/stored-first-frame`, { projectId, prompt: PROMPT }, 201);
export const storeDbosFrame = (dbos: string, caller: Caller & { id: string }, projectId: string): LoadRequest =>
  post(caller, `${dbos}/stored-first-frame`, { ownerId: caller.id, projectId, prompt: PROMPT }, 201);
/** `contains`: what the answer must have. */
export const get = (url: string, caller: Caller, contains: string): LoadRequest => ({
  method: "GET",
  url,
  headers: headersOf(caller),
  status: 200,
  contains,
});
/** `path`: of a frame, in the API or the written function. The answer must have the address of its file. */
export const readFrame = (path: string, caller: Caller, projectId: string, predictionId: string): LoadRequest =>
  get(`${path}?${new URLSearchParams({ projectId, predictionId })}`, caller, `"url":"${caller.url}`);
