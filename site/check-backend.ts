import { OPERATIONS, type OperationId } from "../shared/contract/operations/index.ts";
import type { Operation } from "../shared/contract/operations/operation.ts";
import { createBackend } from "./demo/backend.ts";
import type { Recording } from "./demo/recording.ts";

/** Asks the demo's backend what the dashboard asks. Throws at an answer that is not in the contract's words. */
export function checkBackend(recording: Recording): void {
  let now = Date.now();
  const backend = createBackend(recording, () => now);
  const ask = (
    id: OperationId,
    path: Record<string, string> = {},
    query: Record<string, string> = {},
    body = {},
    expected = "",
  ) => {
    const { method, at, answer }: Operation = OPERATIONS[id];
    const asked = at.replaceAll(/:(\w+)/g, (_, name) => path[name] ?? "");
    const given = backend.call(method, asked, new URLSearchParams(query), body).body as {
      data: unknown;
      error: { code: string } | null;
    };
    if ((given.error?.code ?? "") !== expected) throw new Error(`The demo answers ${given.error?.code} to ${id}.`);
    if (expected === "") answer.parse(given.data);
    return given.data as Record<string, string>; // what is read of it are texts
  };
  ask("listFilms");
  ask("listProjects", {}, { include: "predictions" });
  for (const { filmId } of recording.films) ask("readFilm", { filmId });
  for (const { projectId } of recording.projects) ask("readProject", { projectId });
  for (const { predictionId, projectId } of recording.predictions) ask("readVideo", {}, { projectId, predictionId });
  const [film] = recording.films;
  const [refused, empty] = recording.projects;
  const { filmId = "" } = film ?? {};
  const { projectId = "" } = empty ?? {};
  ask("startVideo", {}, {}, { projectId }, "frame_not_ready");
  for (const step of ["FirstFrame", "LastFrame", "Video"] as const) {
    const name = step.replace(/(?!^)([A-Z])/, "-$1").toLowerCase();
    ask("estimateFilm", { filmId, step: name }, { quote: "true" });
    const { quoteId } = ask(`estimate${step}`, {}, { quote: "true" }, { projectId });
    const { predictionId = "" } = ask("startQuote", {}, {}, { quoteId });
    for (let ms = 0; ms < 20_000; ms += 500, now += 500) ask(`read${step}`, {}, { projectId, predictionId });
    if (ask(`read${step}`, {}, { projectId, predictionId }).status !== "succeeded")
      throw new Error(`The demo's ${name} does not end.`);
    ask(
      "changeProject",
      { projectId },
      {},
      { selected: { [name]: predictionId }, plan: { [name]: { prompt: "Other" } } },
    );
  }
  ask("cancelPrediction", {}, {}, ask("startFirstFrame", {}, {}, { projectId, count: 2 }));
  const { predictionId = "" } = ask("startFirstFrame", {}, {}, { projectId: refused?.projectId });
  now += 20_000;
  const { status, error } = ask("readFirstFrame", {}, { projectId, predictionId });
  if (status !== "failed" || !error) throw new Error("The demo's refused prompt is not refused.");
  ask("readProject", { projectId });
  ask("createProject", {}, {}, { title: "New", textPrompt: "New", filmId });
  ask("changeFilm", { filmId }, {}, { title: "Other" });
  ask("readFilm", { filmId });
}
