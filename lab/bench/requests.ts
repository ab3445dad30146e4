import type { LoadRequest } from "./load.ts";
import type { Caller } from "./stack.ts";

const PROMPT = "A harbour at dawn, one red boat";

const headersOf = ({ token, apikey }: Caller) => ({
  authorization: `Bearer ${token}`,
  apikey,
  "content-type": "application/json",
});
const post = (caller: Caller, url: string, body: unknown, status: number): LoadRequest => ({
  ...{ method: "POST", url, headers: headersOf(caller), body: JSON.stringify(body), status },
});

const get = (caller: Caller, url: string, contains: string): LoadRequest => ({
  ...{ method: "GET", url, headers: headersOf(caller), status: 200, contains },
});
export const createProject = (api: string, caller: Caller): LoadRequest =>
  post(caller, `${api}/projects`, { title: "Bench", textPrompt: PROMPT }, 201);
export const startFrame = (api: string, caller: Caller, projectId: string): LoadRequest =>
  post(caller, `${api}/projects/generate/first-frame`, { projectId, prompt: PROMPT }, 202);
export const readFrame = (api: string, caller: Caller, projectId: string, predictionId: string): LoadRequest =>
  get(caller, `${api}/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`, predictionId);
