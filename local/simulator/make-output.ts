import { isFilled } from "./check-input.ts";
import { drawScene } from "./draw/draw-scene.ts";
import { encodePng } from "./draw/encode-png.ts";
import type { Painter } from "./draw/painter.ts";
import type { Model } from "./model-types.ts";
import type { OutputBytes } from "./outputs.ts";
import { pictureSize } from "./picture-size.ts";
import type { Prediction } from "./prediction.ts";
import { type InputImage, type InputSource, readInputImage } from "./read-input-image.ts";
import type { FilmMaker } from "./video/film-maker.ts";
import { type FilmPlan, planFilm } from "./video/film-plan.ts";

export type Studio = { pictures: Painter; films: FilmMaker; source: InputSource; imageWidth: number };
export type InputImages = { first: InputImage | null; last: InputImage | null; references: InputImage[] };

const filmWidth = 640;

/** Loads every image the input names. A field the model ignores beside another one is not looked at, as in the model itself. */
export async function loadInputs(model: Model, prediction: Prediction, studio: Studio): Promise<InputImages> {
  const { input } = prediction;
  const ignored = (model.rules ?? []).flatMap((rule) => {
    return rule.rule === "ignores" && isFilled(input[rule.when]) ? [rule.field] : [];
  });
  const urls = (field: string | undefined) => {
    if (field === undefined || ignored.includes(field)) return [];
    return [input[field]].flat().filter((value) => typeof value === "string" && value !== "");
  };
  const read = (field: string | undefined) =>
    Promise.all(urls(field).map((url) => readInputImage(String(url), studio.source, prediction.stop.signal)));
  const [first, last, references] = await Promise.all([
    read(model.firstFrame),
    read(model.lastFrame),
    read(model.references ?? (model.input.fields.reference_images ? "reference_images" : undefined)),
  ]);
  return { first: first[0] ?? null, last: last[0] ?? null, references };
}

/**
 * Draws the image or images of a prediction. Formats other than PNG only when the input asks for them. `onBegin` is told when
 * the first is begun.
 */
export async function makeImages(
  model: Model,
  prediction: Prediction,
  images: InputImages,
  studio: Studio,
  onBegin: () => void,
): Promise<OutputBytes[]> {
  const { input } = prediction;
  const references = images.references.map(({ bytes }) => bytes);
  const size = pictureSize(input.aspect_ratio, studio.imageWidth, images.references[0]?.image);
  const several = model.output === "images" && input.sequential_image_generation === "auto";
  const count = several ? Number(input.max_images ?? 1) : 1;
  const made: OutputBytes[] = [];
  for (let i = 0; i < count; i++) {
    const prompt = i === 0 ? promptOf(prediction) : `${promptOf(prediction)} (${i + 1})`;
    const picture = { prompt, ...size, references, format: input.output_format };
    made.push(await studio.pictures.paint(picture, onBegin, prediction.stop.signal));
  }
  return made;
}

/** How the video of a prediction will be cut: the length asked for, the shape of its first frame. */
export function planVideo({ input }: Prediction, { first }: InputImages): FilmPlan {
  const ratio = first ? "match_input_image" : input.aspect_ratio;
  const size = pictureSize(ratio, filmWidth, first?.image);
  return planFilm(typeof input.duration === "number" ? input.duration : null, size);
}

/** Makes the video of a prediction; without a first frame it begins with a picture drawn from the prompt. */
export async function makeVideo(
  prediction: Prediction,
  images: InputImages,
  plan: FilmPlan,
  studio: Studio,
  onProgress: (frame: number) => void,
): Promise<OutputBytes> {
  const references = images.references.map(({ image }) => image);
  const first = images.first?.bytes ?? encodePng(drawScene({ prompt: promptOf(prediction), ...plan, references }));
  const film = { plan, first, last: images.last?.bytes ?? null };
  const bytes = await studio.films.make(film, onProgress, prediction.stop.signal);
  return { bytes, contentType: "video/mp4", extension: "mp4" };
}

function promptOf({ input }: Prediction): string {
  return String(input.prompt ?? "");
}
