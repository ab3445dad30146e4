import { apiCaller, type Call } from "./call.ts";
import type { Step } from "../../../shared/contract/fields.ts";
import { type Prediction, prediction } from "../../../shared/contract/predictions.ts";
import { project } from "../../../shared/contract/projects.ts";
import type { FlowStack } from "../stack/own-stack.ts";
import { signUpAt } from "../api/sign-up.ts";
import { until } from "../until.ts";

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

export async function newFilmMaker(stack: FlowStack): Promise<FilmMaker> {
  const { session } = await signUpAt(stack);
  const { access_token: accessToken, user } = session;
  const call = apiCaller(`${stack.url}/functions/v1`, accessToken);
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
