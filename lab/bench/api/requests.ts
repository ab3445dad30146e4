import type { Caller } from "../bench-stack.ts";
import type { LoadRequest } from "./load.ts";

const PROMPT = "A harbour at dawn, one red boat";
const TITLE = "Bench";

const headersOf = ({ token, apikey }: Caller) => ({
  authorization: `Bearer ${token}`,
  apikey,
  "content-type": "application/json",
  "accept-profile": "keyframe",
  "content-profile": "keyframe",
});

const post = (caller: Caller, path: string, body: unknown, headers: Record<string, string> = {}): LoadRequest => ({
  method: "POST",
  url: caller.url + path,
  headers: { ...headersOf(caller), ...headers },
  body: JSON.stringify(body),
});

/** Creating a project: the API, and the same insert by REST. */
export const createByApi = (caller: Caller) =>
  post(caller, "/functions/v1/api/projects", { title: TITLE, textPrompt: PROMPT, description: "" });
export const createByRest = (caller: Caller) =>
  post(
    caller,
    "/rest/v1/projects?select=*",
    { title: TITLE, text_prompt: PROMPT, description: "" },
    { prefer: "return=representation" },
  );

/** Starting a first frame: the API, and the same SQL function by REST. */
export const startByApi = (caller: Caller, projectId: string) =>
  post(caller, "/functions/v1/api/projects/generate/first-frame", { projectId, prompt: PROMPT });
export const startByRest = (caller: Caller, projectId: string) =>
  post(caller, "/rest/v1/rpc/start_prediction", { project_id: projectId, step: "first-frame", prompt: PROMPT });

/** Reading the status of a first frame: the API, the same SQL function by REST, and the bare row. */
export const readByApi = (caller: Caller, projectId: string, predictionId: string): LoadRequest => ({
  method: "GET",
  url: `${caller.url}/functions/v1/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`,
  headers: headersOf(caller),
  contains: predictionId,
});
export const readByRest = (caller: Caller, projectId: string, predictionId: string): LoadRequest => ({
  ...post(caller, "/rest/v1/rpc/read_prediction", {
    project_id: projectId,
    step: "first-frame",
    prediction_id: predictionId,
  }),
  contains: predictionId,
});
export const selectByRest = (caller: Caller, predictionId: string): LoadRequest => ({
  method: "GET",
  url: `${caller.url}/rest/v1/predictions?select=*&id=eq.${predictionId}`,
  headers: headersOf(caller),
  contains: predictionId,
});
