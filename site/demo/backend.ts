import type { Estimate, Film, Prediction, Project, Step } from "../../client/index.ts";
import type { OPERATIONS, OperationId } from "../../shared/contract/operations/index.ts";
import type { Frame, Recording } from "./recording.ts";

type Row = { prediction: Prediction; run?: { frames: Frame[]; at: number } };
type Body = Partial<Record<string, unknown>> & {
  projectId?: string;
  predictionId?: string;
  selected?: object;
  plan?: object;
};
export type Answer = { status: number; body: unknown };

const STEPS: Step[] = ["first-frame", "last-frame", "video"];
const NO_STEP = { "first-frame": null, "last-frame": null, video: null };
const CANNOT = "The demo plays a recording and cannot do this. On your machine, npm start can.";

type StatusOf<Id extends OperationId> = (typeof OPERATIONS)[Id]["status"];
type Status = StatusOf<OperationId>;
const CREATED: StatusOf<"createProject"> = 201;
const STARTED: StatusOf<"startFirstFrame" | "startLastFrame" | "startVideo" | "startQuote"> = 202;

/** Refused as the service refuses it. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
const notFound = () => new Refusal(404, "not_found", "The demo's recording does not have this.");

/**
 * The service as the recording has it: reads are answered from it, a start plays a recorded run, and a few changes are kept until the page is
 * left.
 */
export function createBackend({ answers, estimates, runs, ...recorded }: Recording, now: () => number) {
  const projects = new Map(recorded.projects.map((project) => [project.projectId, project]));
  const films = new Map(recorded.films.map((film) => [film.filmId, film]));
  const rows = new Map<string, Row>(
    recorded.predictions.map((prediction) => [prediction.predictionId, { prediction }]),
  );
  const quotes = new Map<string, () => Prediction[]>();
  const iso = (at: number) => new Date(at).toISOString();
  const found = <T>(some: Map<string, T>, id: unknown): T => {
    const one = some.get(String(id));
    if (one === undefined) throw notFound();
    return one;
  };

  /** A prediction as it is now: a run is where its recording was after the same time. */
  function stateOf({ prediction, run }: Row): Prediction {
    if (run === undefined) return prediction;
    const { prediction: frame } =
      run.frames.findLast(({ afterMs }) => run.at + afterMs <= now()) ?? (run.frames[0] as Frame); // a run has frames
    const moved = (time: string | null) => time && iso(run.at + Date.parse(time) - Date.parse(frame.createdAt));
    const { predictionId, projectId, step, model, input, hidden, createdAt } = prediction;
    const times = { createdAt, startedAt: moved(frame.startedAt), completedAt: moved(frame.completedAt) };
    return { ...frame, predictionId, projectId, step, model, input, hidden, ...times };
  }
  const predictionsOf = (projectId: string, step: unknown = null): Prediction[] =>
    [...rows.values()]
      .map(stateOf)
      .filter((one) => one.projectId === projectId && (step === null || one.step === step))
      .sort((one, other) => other.createdAt.localeCompare(one.createdAt));
  const takeOf = ({ projectId, selected }: Project, step: Step): Prediction | null => {
    const takes = predictionsOf(projectId, step).filter(({ status }) => status === "succeeded");
    return (
      takes.find(({ predictionId }) => predictionId === selected[step]) ?? takes.find(({ hidden }) => !hidden) ?? null
    );
  };
  const ofSteps = (read: (step: Step) => Prediction | null) =>
    Object.fromEntries(STEPS.map((step) => [step, read(step)]));
  const whole = (project: Project) => ({
    ...project,
    predictions: ofSteps((step) => predictionsOf(project.projectId, step)[0] ?? null),
    takes: ofSteps((step) => takeOf(project, step)),
  });
  const shotsOf = ({ projectIds }: Film) => projectIds.flatMap((id) => projects.get(id) ?? []);

  function start(step: Step, body: Body): Prediction[] {
    const project = found(projects, body.projectId);
    const wanted: Body = { ...project.plan[step], ...body };
    const frame = takeOf(project, "first-frame");
    const needsFrame = wanted.firstFramePredictionId !== null && !wanted.continuesPreviousShot;
    if (step === "video" && frame === null && needsFrame)
      throw new Refusal(409, "frame_not_ready", "The video needs a first frame. Generate one, or send null.");
    const prompt = String(wanted.prompt ?? project.textPrompt);
    const frames = prompt.includes("[[fault:content_rejected") ? runs.rejected : runs[step];
    const [first] = frames as [Frame]; // a run has frames
    const ends = {
      firstFramePredictionId: frame?.predictionId ?? null,
      lastFramePredictionId: takeOf(project, "last-frame")?.predictionId ?? null,
    };
    const input = { ...first.prediction.input, prompt, ...(step === "video" && ends) };
    return Array.from({ length: Number(body.count ?? 1) }, () => {
      const fields = {
        predictionId: crypto.randomUUID(),
        projectId: project.projectId,
        step,
        createdAt: iso(now()),
        input,
      };
      const prediction = {
        ...first.prediction,
        ...fields,
        model: String(wanted.model ?? runs[step][0]?.prediction.model),
      };
      const row = { prediction, run: { frames, at: now() } };
      rows.set(prediction.predictionId, row);
      return stateOf(row);
    });
  }
  const startAll = (all: Prediction[]) => ({ ...all[0], ...(all.length > 1 && { predictions: all }) });

  function priced(estimate: Estimate, isQuote: boolean, begin: () => Prediction[]): Estimate {
    const quoteId = crypto.randomUUID();
    if (isQuote) quotes.set(quoteId, begin);
    return { ...estimate, ...(isQuote && { quoteId, quotedUntil: iso(now() + 600_000) }) };
  }
  function estimateFilm(film: Film, step: Step, isQuote: boolean, { projectIds }: Body) {
    const { model, requestedModel: _, elements, ...price } = estimates[step];
    const lacking = shotsOf(film)
      .filter(({ projectId }) => (projectIds as string[] | undefined)?.includes(projectId) ?? true)
      .filter(
        (shot) =>
          takeOf(shot, step) === null &&
          !predictionsOf(shot.projectId, step).some(({ completedAt }) => completedAt === null),
      );
    const isEarly = (shot: Project) => step === "video" && takeOf(shot, "first-frame") === null;
    const able = lacking.filter((shot) => !isEarly(shot));
    const times = (micros: number | null) => micros && micros * able.length;
    const sum = {
      ...estimates[step],
      estimateMicros: times(price.estimateMicros),
      atMostMicros: times(price.atMostMicros),
    };
    const {
      model: _m,
      requestedModel: _r,
      elements: _e,
      ...quoted
    } = priced(sum, isQuote && able.length > 0, () => able.flatMap(({ projectId }) => start(step, { projectId })));
    const early = {
      model,
      estimateMicros: null,
      atMostMicros: null,
      elements,
      error: { code: "frame_not_ready", message: "It has no first frame yet." },
    };
    const shots = lacking.map((shot) => ({
      projectId: shot.projectId,
      ...(isEarly(shot) ? early : { ...price, model, elements, error: null }),
    }));
    return { shots, ...quoted };
  }

  /** Keeps a change. What is an object is merged: the plan and the selected takes of a project. */
  function change<T extends { updatedAt: string }>(
    some: Map<string, T>,
    id: string,
    { plan, selected, ...body }: Body,
  ): T {
    const { plan: p, selected: s } = found(some, id) as { plan?: object; selected?: object };
    const merged = { ...(plan && { plan: { ...p, ...plan } }), ...(selected && { selected: { ...s, ...selected } }) };
    const changed = { ...found(some, id), ...body, ...merged, updatedAt: iso(now()) };
    some.set(id, changed);
    return changed;
  }
  function createProject({ filmId = null, ...body }: Body): Project {
    const [like] = recorded.projects as [Project]; // the recorder made some
    const times = { createdAt: iso(now()), updatedAt: iso(now()) };
    const none = { description: "", referenceImagePath: null, elementIds: null, plan: {}, selected: NO_STEP };
    const project = { ...like, ...none, ...times, ...body, filmId, projectId: crypto.randomUUID() } as Project; // as the page sends it
    projects.set(project.projectId, project);
    const film = films.get(String(filmId));
    if (film) change(films, film.filmId, { projectIds: [...film.projectIds, project.projectId] });
    return project;
  }
  function cancel({ predictionId }: Body): Prediction {
    const was = stateOf(found(rows, predictionId));
    if (was.completedAt !== null) throw new Refusal(409, "generation_ended", "The generation has already ended.");
    const prediction: Prediction = { ...was, status: "canceled", queuePosition: null, completedAt: iso(now()) };
    rows.set(prediction.predictionId, { prediction });
    return prediction;
  }

  type Route = [
    match: RegExp,
    answer: (id: string, step: Step, query: URLSearchParams, body: Body) => unknown,
    status?: Status,
  ];
  const routes: Route[] = [
    [/^GET \/films$/, () => ({ films: [...films.values()], nextCursor: null })],
    [/^GET \/films\/([\w-]+)$/, (id) => ({ ...found(films, id), shots: shotsOf(found(films, id)).map(whole) })],
    [/^PATCH \/films\/([\w-]+)$/, (id, _, __, body) => change(films, id, body)],
    [
      /^POST \/films\/([\w-]+)\/generate\/([\w-]+)\/estimate$/,
      (id, step, query, body) => estimateFilm(found(films, id), step, query.has("quote"), body),
    ],
    [/^POST \/projects$/, (_, __, ___, body) => createProject(body), CREATED],
    [
      /^GET \/projects$/,
      (_, __, query) => ({
        projects: [...projects.values()]
          .filter(({ title }) => title.toLowerCase().includes(query.get("search")?.toLowerCase() ?? ""))
          .sort((one, other) => other.createdAt.localeCompare(one.createdAt))
          .map((one) => (query.has("include") ? whole(one) : one)),
        nextCursor: null,
      }),
    ],
    [/^GET \/projects\/([\w-]+)$/, (id) => whole(found(projects, id))],
    [/^PATCH \/projects\/([\w-]+)$/, (id, _, __, body) => change(projects, id, body)],
    [
      /^GET \/projects\/([\w-]+)\/predictions$/,
      (id, _, query) => ({
        predictions: predictionsOf(id, query.get("step")).filter(
          ({ hidden, status }) => (!hidden || query.has("hidden")) && status.includes(query.get("status") ?? ""),
        ),
        nextCursor: null,
      }),
    ],
    [
      /^PATCH \/projects\/[\w-]+\/predictions\/([\w-]+)$/,
      (id, _, __, body) => {
        const row = found(rows, id);
        row.prediction = { ...row.prediction, ...body };
        return stateOf(row);
      },
    ],
    [
      /^GET \/projects\/generate\/(([\w-]+))$/,
      (_, step, query) => {
        const one = query.has("predictionId")
          ? stateOf(found(rows, query.get("predictionId")))
          : predictionsOf(query.get("projectId") ?? "", step)[0];
        if (one === undefined) throw notFound();
        return one;
      },
    ],
    [/^POST \/projects\/generate\/(quote)$/, (_, __, ___, body) => startAll(found(quotes, body.quoteId)()), STARTED],
    [/^POST \/projects\/generate\/(cancel)$/, (_, __, ___, body) => cancel(body)],
    [
      /^POST \/projects\/generate\/(([\w-]+))\/estimate$/,
      (_, step, query, body) => priced(estimates[step], query.has("quote"), () => start(step, body)),
    ],
    [/^POST \/projects\/generate\/(([\w-]+))$/, (_, step, __, body) => startAll(start(step, body)), STARTED],
  ];

  /** What was recorded for the path and these values. A page of a list is all of it. */
  function recordedAt(path: string, query: URLSearchParams): unknown {
    const kept = new URLSearchParams([...query].filter(([name]) => !["limit", "cursor", "from", "to"].includes(name)));
    const answer = answers[`${path}?${kept}`] ?? answers[`${path}?`];
    if (answer === undefined) throw notFound();
    return answer;
  }

  function call(method: string, path: string, query: URLSearchParams, body: Body = {}): Answer {
    const asked = `${method} ${path}`;
    try {
      const [match, answer, status = 200] = routes.find(([one]) => one.test(asked)) ?? [];
      const [, id = "", step = ""] = match?.exec(asked) ?? [];
      if (answer === undefined && method !== "GET") throw new Refusal(403, "forbidden", CANNOT);
      const data = answer ? answer(id, step as Step, query, body) : recordedAt(path, query); // the path has a step there
      return { status, body: { success: true, data, error: null } };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, code, message } = error;
      return { status, body: { success: false, data: null, error: { code, message, requestId: "demo" } } };
    }
  }
  /** What the dashboard reads of the Data API. */
  function rowsOf(table: string, query: URLSearchParams): object[] {
    const ids: string[] = (query.get("id") ?? "").match(/[\da-f-]{36}/g) ?? [];
    if (table === "/predictions") return ids.flatMap((id) => rows.get(id)?.prediction ?? []);
    const isAsked = ({ projectId, elementIds }: Project) =>
      query.has("element_ids") ? elementIds !== null : ids.includes(projectId);
    return [...projects.values()].filter(isAsked).map((project) => ({ ...project, id: project.projectId }));
  }
  return { call, rowsOf };
}
