import { z } from "zod";
import { predictionInput, startFields } from "./controls.ts";
import { estimate } from "./costs.ts";
import { elementIds } from "./elements.ts";
import { changeBody, id, listOf, nextCursor, only, step, text, time, title } from "./fields.ts";
import { prediction } from "./predictions.ts";
import { ofEachStep, predictionsText, project, takesText } from "./projects.ts";
import { SAMPLE_FILM } from "./samples.ts";

const descriptionText = "Free text, for example what happens in the film.";
const description = text(0, 4000).describe(descriptionText);

const cast = elementIds(50).describe(
  "Its cast: the elements that its shots are made with, unless a shot has its own elements. If a shot's prompt names some as @name, only those are used.",
);

export const createFilmBody = z
  .strictObject({
    title,
    description: description.default("").describe(`${descriptionText} Default: empty.`),
    elementIds: cast.optional(),
  })
  .meta({ id: "CreateFilm" });

const projectIds = listOf(id, 500, "A film has at most 500 shots.", "A project can be in it only once.");

export const changeFilmBody = changeBody("ChangeFilm", {
  title: title.optional(),
  description: description.optional(),
  projectIds: projectIds
    .optional()
    .describe(
      "The complete list of shots, in order. A project that is missing from it leaves the film and is kept; a project of another film is moved here.",
    ),
  elementIds: cast.optional(),
});

export const filmPath = z.strictObject({ filmId: id });

export const deleteFilmQuery = z.strictObject({
  projects: only("delete", "delete: deletes the film's projects too, with their predictions and files."),
});

const fields = {
  filmId: id,
  title: z.string(),
  description: z.string(),
  projectIds: z.array(id).describe("The film's shots, in order."),
  elementIds: z.array(id).describe("Its cast: the elements that its shots are made with."),
  createdAt: time,
  updatedAt: time.describe(
    "Updated when the texts, the cast, the shots or their order change; the ETag is this value in quotes.",
  ),
};

export const film = z.object(fields).meta({ id: "Film", examples: [SAMPLE_FILM] });
export type Film = z.infer<typeof film>;

const shotPrediction = prediction
  .extend({
    input: predictionInput.omit({ elements: true }).meta({
      id: "ShotPredictionInput",
      description: "Without `elements`: read the prediction for them, and to repeat it.",
    }),
  })
  .meta({ id: "ShotPrediction" });
const shotSteps = {
  predictions: z.object(ofEachStep(shotPrediction)).meta({ id: "ShotPredictions", description: predictionsText }),
  takes: z.object(ofEachStep(shotPrediction)).meta({ id: "ShotTakes", description: takesText }),
};
const shot = z.object({ ...project.shape, ...shotSteps }).meta({ id: "Shot" });
export type Shot = z.infer<typeof shot>;

export const filmWithShots = z
  .object({ ...fields, shots: z.array(shot).describe("The projects of projectIds.") })
  .meta({ id: "FilmWithShots" });

export const filmStepPath = z.strictObject({ filmId: id, step });

/** A start of each shot, with the same fields. */
export const startFilmBody = z
  .strictObject(startFields())
  .omit({ projectId: true, count: true })
  .extend({
    projectIds: projectIds
      .max(60, "At most 60 shots start at once.")
      .optional()
      .describe(
        "Only these shots, if they are missing the step. Default: all shots that are missing it, at most the first 60.",
      ),
    outdated: z
      .boolean()
      .optional()
      .describe(
        "True: also the shots whose shown take is outdated and not selected, and shots that continue one that is made again.",
      ),
  })
  .meta({ id: "StartFilm" });

export const startedFilm = z
  .object({
    predictions: z.array(prediction).describe("In the order of the shots. Empty if no shot is missing the step."),
  })
  .meta({ id: "StartedFilm" });

const { model, requestedModel: _, elements, ...amounts } = estimate.shape;
const { estimateMicros, atMostMicros } = amounts;
const error = z.object({ code: z.string(), message: z.string() }).nullable();
export const filmEstimate = z
  .object({
    shots: z
      .array(z.object({ projectId: id, model: model.nullable(), estimateMicros, atMostMicros, elements, error }))
      .describe(
        "The shots that are missing the step, in order. `error`: why a shot cannot start. It has amounts only for `frame_not_ready`: what its video will cost once it has a frame to start on.",
      ),
    ...amounts,
  })
  .meta({ id: "FilmEstimate", description: "The amounts are the sum of all shots that can start." });

export const filmPage = z.object({ films: z.array(film), nextCursor }).meta({ id: "FilmPage" });
