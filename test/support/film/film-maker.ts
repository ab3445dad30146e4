import { z } from "zod";
import type { Step } from "../../../shared/contract/fields.ts";
import { type Prediction, prediction } from "../../../shared/contract/predictions.ts";
import { project } from "../../../shared/contract/projects.ts";
import type { FlowStack } from "../stack/own-stack.ts";
import { requestInit } from "../api/call.ts";
import { signUpAt } from "../api/sign-up.ts";
import { until } from "../until.ts";

const envelope = z.object({
  success: z.boolean(),
  data: z.unknown(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

type Call = <Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  path: string,
  body?: unknown,
) => Promise<z.output<Schema>>;

/** A new user with one project, who works through Auth and the HTTP API as an app does. */
export type FilmMaker = {
  userId: string;
  projectId: string;
  accessToken: string;
  call: Call;
  /** Starts a step; the body needs no projectId. */
  start(step: Step, body?: Record<string, unknown>): Promise<Prediction>;
  read(made: Prediction): Promise<Prediction>;
  cancel(made: Prediction): Promise<Prediction>;
  /** Reads until the prediction has ended, whichever way. */
  untilEnded(made: Prediction, seconds?: number): Promise<Prediction>;
};

const hasEnded = ({ status }: Prediction) => status === "succeeded" || status === "failed" || status === "canceled";

export async function newFilmMaker(stack: Pick<FlowStack, "url" | "publishableKey">): Promise<FilmMaker> {
  const { session } = await signUpAt(stack);
  const { access_token: accessToken, user } = session;
  const call: Call = async (schema, method, path, body) => {
    // A drawn image lies in an ordinary ArrayBuffer, which is all fetch asks for.
    const image = { body: body as Uint8Array<ArrayBuffer>, headers: { "content-type": "image/png" } };
    const content = body instanceof Uint8Array ? image : { json: body };
    const response = await fetch(
      `${stack.url}/functions/v1${path}`,
      requestInit({ method, token: accessToken, ...content }),
    );
    const { success, data, error } = envelope.parse(await response.json());
    if (!success) throw new Error(`${method} ${path} answered ${response.status} ${error?.code}: ${error?.message}`);
    return schema.parse(data);
  };
  const { projectId } = await call(project, "POST", "/api/projects", {
    title: "Harbour",
    textPrompt: `A harbour at dawn, take ${crypto.randomUUID()}`,
  });
  const read = ({ step, predictionId }: Prediction) =>
    call(prediction, "GET", `/api/projects/generate/${step}?${new URLSearchParams({ projectId, predictionId })}`);
  return {
    userId: user.id,
    projectId,
    accessToken,
    call,
    start: (step, body = {}) => call(prediction, "POST", `/api/projects/generate/${step}`, { projectId, ...body }),
    read,
    cancel: ({ predictionId }) =>
      call(prediction, "POST", "/api/projects/generate/cancel", { projectId, predictionId }),
    untilEnded: (made, seconds = 60) =>
      until(
        `the ${made.step} ${made.predictionId} ends`,
        async () => {
          const now = await read(made);
          return hasEnded(now) && now;
        },
        seconds * 1000,
      ),
  };
}

/** A prompt that no other test has, with faults for the simulator. */
export function promptWith(...faults: string[]): string {
  const directives = faults.map((fault) => `[[fault:${fault}]]`);
  return ["A harbour at dawn", crypto.randomUUID(), ...directives].join(" ");
}
