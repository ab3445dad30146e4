import type { KeyframeClient } from "../../client/index.ts";
import { FilmError, joinFilm } from "../../client/film.ts";
import type { DemoOptions, Timed } from "./make-shot.ts";

/** Where a film can be watched. `file` is null if joining its shots needs a browser, because their formats differ. */
export type ShownFilm = { link: string; file: string | null };

/** Shares a film by a link of the dashboard, and writes it as one MP4. */
export async function showFilm(
  keyframe: KeyframeClient,
  filmId: string,
  timed: Timed,
  { url, signal, file }: Pick<DemoOptions, "url" | "signal" | "file">,
): Promise<ShownFilm> {
  const { token } = await timed(
    "share",
    () => keyframe.films.share(filmId, {}, { signal }),
    () => "a link; anyone who has it can watch",
  );
  const link = `${url}/#/shared/${token}`;
  if (file === undefined) return { link, file: null };
  const made = await timed(
    "one MP4",
    async () => {
      const film = await keyframe.films.read(filmId, { signal });
      return await joinFilm(film, { signal }).catch((error) => {
        if (error instanceof FilmError && error.code === "cannot_join") return null;
        throw error;
      });
    },
    (film) =>
      film === null
        ? "its shots differ in format; the film's page can join them"
        : `${Math.round(film.size / 1024)} KiB`,
  );
  if (made === null) return { link, file: null };
  await Deno.writeFile(file, new Uint8Array(await made.arrayBuffer()));
  return { link, file };
}
