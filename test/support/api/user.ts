import { beforeAll, inject } from "vitest";
import type { BodyOf } from "../../../client/types.ts";
import type { Step } from "../../../shared/contract/fields.ts";
import { element } from "../../../shared/contract/elements.ts";
import { film } from "../../../shared/contract/films.ts";
import { type Prediction, prediction, uploadedReferenceImage } from "../../../shared/contract/predictions.ts";
import { project } from "../../../shared/contract/projects.ts";
import { type CallOptions, callApi } from "./call.ts";
import { dataOf, type Reply } from "./envelope.ts";
import { type DataClient, signUpAt } from "./sign-up.ts";
import { until } from "../until.ts";

/** Somebody who is signed in, and what they do with the API. Each of the last seven fails the test unless it succeeds. */
export type User = {
  id: string;
  token: string;
  supabase: DataClient;
  call(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, json: unknown, headers?: Record<string, string>): Promise<Reply>;
  createProject(fields?: Partial<BodyOf<"createProject">>): Promise<string>;
  createFilm(title?: string): Promise<string>;
  createElement(fields?: Partial<BodyOf<"createElement">>): Promise<string>;
  start(step: Step, body: { projectId: string; [field: string]: unknown }): Promise<Prediction>;
  read(step: Step, projectId: string, predictionId?: string): Promise<Prediction>;
  finish(started: Prediction): Promise<Prediction>;
  upload(image: Uint8Array<ArrayBuffer>, contentType?: string): Promise<string>;
};

export async function signUp(): Promise<User> {
  const { supabase, session } = await signUpAt(inject("stack"));
  const { access_token: token, user } = session;

  const call: User["call"] = (path, options = {}) => callApi(path, { token, ...options });
  const post: User["post"] = (path, json, headers = {}) => call(path, { json, headers });
  const read: User["read"] = async (step, projectId, predictionId) => {
    const query = new URLSearchParams({ projectId, ...(predictionId === undefined ? {} : { predictionId }) });
    return prediction.parse(dataOf(await call(`/api/projects/generate/${step}?${query}`), 200));
  };
  return {
    id: user.id,
    token,
    supabase,
    call,
    post,
    read,
    createProject: async (fields = {}) => {
      const body = { title: "Harbour", textPrompt: "A harbour at dawn, one red boat", ...fields };
      return project.parse(dataOf(await post("/api/projects", body), 201)).projectId;
    },
    createFilm: async (title = "The pier") => film.parse(dataOf(await post("/api/films", { title }), 201)).filmId,
    createElement: async (fields = {}) => {
      const body = { kind: "character", name: "Anna", ...fields };
      return element.parse(dataOf(await post("/api/elements", body), 201)).elementId;
    },
    start: async (step, body) => prediction.parse(dataOf(await post(`/api/projects/generate/${step}`, body), 202)),
    finish: (started) =>
      until(`the end of the ${started.step}`, async () => {
        const now = await read(started.step, started.projectId, started.predictionId);
        return now.completedAt === null ? undefined : now;
      }),
    upload: async (image, contentType = "image/png") => {
      const headers = { "content-type": contentType };
      const reply = await call("/api/projects/reference-images", { body: image, headers });
      return uploadedReferenceImage.parse(dataOf(reply, 201)).referenceImagePath;
    },
  };
}

/** Somebody for one test file, there from its next hook on. */
export function useUser(): User {
  const user = {} as User; // filled before any later hook or test can use it
  beforeAll(async () => void Object.assign(user, await signUp()));
  return user;
}
