import { type CallOptions, eachRow, operate, type StartOptions } from "./operate.ts";
import { type ChangeOptions, ifMatch } from "./projects.ts";
import type { Settings } from "./settings.ts";
import type {
  BodyOf,
  CreatedShare,
  Film,
  FilmEstimate,
  FilmPage,
  FilmWithShots,
  QueryOf,
  Share,
  SharedFilm,
  StartedFilm,
  Step,
} from "./types.ts";

export function filmMethods(settings: Settings) {
  const list = async (query: QueryOf<"listFilms"> = {}, options: CallOptions = {}): Promise<FilmPage> =>
    (await operate("listFilms", {}, { ...options, query }, settings)).data;

  return {
    create: async (json: BodyOf<"createFilm">, options: StartOptions = {}): Promise<Film> =>
      (await operate("createFilm", {}, { ...options, json }, settings)).data,

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    each: (query: QueryOf<"listFilms"> = {}, options: CallOptions = {}): AsyncGenerator<Film, void, undefined> =>
      eachRow(list, "films", query, options),

    /** With its shots in order, each with the take that each step shows. */
    read: async (filmId: string, options: CallOptions = {}): Promise<FilmWithShots> =>
      (await operate("readFilm", { filmId }, options, settings)).data,

    /** `projectIds` orders the shots: pass `unchangedSince`, so that no shot is lost that somebody else has added. */
    change: async (
      filmId: string,
      json: BodyOf<"changeFilm">,
      { unchangedSince, ...options }: ChangeOptions = {},
    ): Promise<Film> =>
      (await operate("changeFilm", { filmId }, { ...options, json, headers: ifMatch(unchangedSince) }, settings)).data,

    /**
     * Starts a step for the shots that lack it, for all or for none. If some cannot start, it throws before anything is charged, and
     * `details` of the error names them by their projectId.
     */
    generate: async (
      filmId: string,
      step: Step,
      json: BodyOf<"startFilm"> = {},
      options: StartOptions = {},
    ): Promise<StartedFilm> => (await operate("startFilm", { filmId, step }, { ...options, json }, settings)).data,

    /** What generate would cost, and which shots cannot start. */
    estimate: async (
      filmId: string,
      step: Step,
      json: BodyOf<"estimateFilm"> = {},
      options: CallOptions = {},
    ): Promise<FilmEstimate> => (await operate("estimateFilm", { filmId, step }, { ...options, json }, settings)).data,

    /** Its projects stay, unless `projects: "delete"`: then they and their files are deleted, which cannot be undone. */
    delete: async (
      filmId: string,
      query: QueryOf<"deleteFilm"> = {},
      { unchangedSince, ...options }: ChangeOptions = {},
    ): Promise<Film> =>
      (await operate("deleteFilm", { filmId }, { ...options, query, headers: ifMatch(unchangedSince) }, settings)).data,

    /** A link to it: whoever has `token`, which is answered once, reads it by `readShared`. */
    share: async (filmId: string, json: BodyOf<"shareFilm"> = {}, options: StartOptions = {}): Promise<CreatedShare> =>
      (await operate("shareFilm", { filmId }, { ...options, json }, settings)).data,

    /** Those that have not ended, newest first. */
    shares: async (filmId: string, options: CallOptions = {}): Promise<Share[]> =>
      (await operate("listShares", { filmId }, options, settings)).data.shares,

    revokeShare: async (filmId: string, shareId: string, options: CallOptions = {}): Promise<Share> =>
      (await operate("revokeShare", { filmId, shareId }, options, settings)).data,

    /** For anybody: needs no session, and sends none. */
    readShared: async (token: string, options: CallOptions = {}): Promise<SharedFilm> =>
      (await operate("readShared", { token }, options, settings)).data,
  };
}
