import { type KeyframeClient, mustSucceed } from "../../client/index.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/scene.ts";
import { FILMS, type Film } from "./films.ts";

/** Makes the films with the person's own session. Returns the project whose studio is shown. */
export async function makeFilms(keyframe: KeyframeClient): Promise<string> {
  let last = "";
  for (const film of FILMS) last = await makeFilm(keyframe, film);
  return last;
}

async function makeFilm(keyframe: KeyframeClient, film: Film): Promise<string> {
  const { title, textPrompt, description, night, steps } = film;
  const { projectId } = await keyframe.createProject({ title, textPrompt, description });
  const reference = night === undefined ? null : await keyframe.uploadReferenceImage(drawReferencePhoto(title));
  for (const step of steps) {
    const started = await keyframe.generate(step, {
      projectId,
      ...(reference !== null && step !== "video" ? reference : {}),
      ...(night !== undefined && step === "last-frame" ? { prompt: night } : {}),
    });
    mustSucceed(await keyframe.waitFor(started));
  }
  return projectId;
}
