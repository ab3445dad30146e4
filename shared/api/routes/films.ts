import { z } from "zod";
import { type Film, film, filmEstimate, type Shot } from "../../contract/films.ts";
import type { PredictionOfEachStep } from "../../contract/projects.ts";
import { answerBase } from "../data/database.ts";
import { fromRow, position, toRow } from "../data/rows.ts";
import { mapPrediction, outputPaths, predictionRow } from "../data/map-prediction.ts";
import { mapProject, mapSteps, projectFields, stepRows } from "../data/map-project.ts";
import { cutPage, pageArguments } from "../http/cursor.ts";
import type { Call } from "../http/read-call.ts";
import { answerHeaders, readVersions, versioned } from "../http/respond.ts";
import type { Handler } from "./handler.ts";

/** A film from keyframe_private.film_json. */
const filmRow = fromRow(film.omit({ filmId: true }).extend(position));
const mapFilm = ({ id, created_at, ...fields }: z.infer<typeof filmRow>): Film => ({ filmId: id, ...fields });

const filmAnswer = answerBase.extend({ film: filmRow });
const filmsAnswer = answerBase.extend({ films: z.array(filmRow) });
const wholeFilmAnswer = filmAnswer.extend({ shots: z.array(fromRow(projectFields.extend({ predictions: stepRows }))) });
const startedAnswer = answerBase.extend({ predictions: z.array(predictionRow) });
const estimateAnswer = answerBase.extend({ estimate: filmEstimate });

export const createFilm: Handler<"createFilm"> = async ({ body, idempotency, caller }, { database }) => {
  const args = { ...toRow(body), ...idempotency };
  const answer = await database.call("create_film", args, caller, filmAnswer);
  return versioned(mapFilm(answer.film), answer);
};

export const listFilms: Handler<"listFilms"> = async ({ query, caller }, { database }) => {
  const answer = await database.read("list_films", pageArguments(query), caller, filmsAnswer);
  const { rows, nextCursor } = cutPage(answer.films, query.limit);
  return { data: { films: rows.map(mapFilm), nextCursor }, headers: answerHeaders(answer) };
};

export const readFilm: Handler<"readFilm"> = async (call, { database, storage }) => {
  const answer = await database.read("read_film", { film_id: call.path("filmId") }, call.caller, wholeFilmAnswer);
  const included = answer.shots.flatMap(({ predictions }) => predictions.map(({ prediction }) => prediction));
  const files = await storage.signGenerated(outputPaths(included), call.caller);
  const shots = answer.shots.map(({ predictions, ...row }) => {
    const steps = mapSteps(predictions, files);
    return {
      ...mapProject(row),
      predictions: withoutElements(steps.predictions),
      takes: withoutElements(steps.takes),
    };
  });
  return versioned({ ...mapFilm(answer.film), shots }, answer);
};

/** Leaves out the elements, as the database does, because they would be most of the answer. */
function withoutElements(takes: PredictionOfEachStep): Shot["takes"] {
  const entries = Object.entries(takes).map(([step, take]) => {
    if (take === null) return [step, null];
    const { elements: _, ...input } = take.input;
    return [step, { ...take, input }];
  });
  return Object.fromEntries(entries); // complete, which the type of fromEntries cannot express
}

export const changeFilm: Handler<"changeFilm"> = async ({ path, body, caller, headers }, { database }) => {
  const { projectIds, ...changes } = body;
  const args = {
    film_id: path("filmId"),
    changes: toRow(changes),
    project_ids: projectIds,
    versions: readVersions(headers.get("if-match")),
  };
  const answer = await database.call("update_film", args, caller, filmAnswer);
  return versioned(mapFilm(answer.film), answer);
};

const startOf = ({ path, body }: Pick<Call<"startFilm">, "path" | "body">) => {
  const { projectIds, model, outdated, ...input } = body;
  return { film_id: path("filmId"), step: path("step"), input, model, project_ids: projectIds, outdated };
};

export const startFilm: Handler<"startFilm"> = async (call, { database, storage }) => {
  const args = { ...startOf(call), ...call.idempotency };
  const answer = await database.call("start_film", args, call.caller, startedAnswer);
  const files = await storage.signGenerated(outputPaths(answer.predictions), call.caller);
  const predictions = answer.predictions.map((row) => mapPrediction(row, files));
  return { data: { predictions }, headers: answerHeaders(answer) };
};

export const estimateFilm: Handler<"estimateFilm"> = async (call, { database }) => {
  const args = { ...startOf(call), quote: call.query.quote === "true" };
  const answer = await database.read("estimate_film", args, call.caller, estimateAnswer);
  return { data: answer.estimate, headers: answerHeaders(answer) };
};

export const deleteFilm: Handler<"deleteFilm"> = async ({ path, query, caller, headers }, { database }) => {
  const args = {
    film_id: path("filmId"),
    with_projects: query.projects === "delete",
    versions: readVersions(headers.get("if-match")),
  };
  const answer = await database.call("delete_film", args, caller, filmAnswer);
  return { data: mapFilm(answer.film), headers: answerHeaders(answer) };
};
