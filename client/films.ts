import { runningIn } from "./endings.ts";
import { type Api, type CallOptions, type ChangeOptions, eachRow, type StartOptions } from "./operate.ts";
import type { BodyOf, Film, FilmWithShots, QueryOf, Step } from "./types.ts";
import { type PollOptions, type WaitOptions, waitFor } from "./wait-for.ts";

export type FilmWaitOptions = WaitOptions<FilmWithShots>;

const MAX_PAUSE_S = 10;

/** A read uses a token of the user's rate limit, and one more for each ten shots, so a long film is read less often. */
const pauseOf = (film: FilmWithShots | undefined): number => Math.min(MAX_PAUSE_S, 1 + (film?.shots.length ?? 0) / 10);

export function filmMethods({ settings, call, operateOnce }: Api) {
  const list = (query: QueryOf<"listFilms"> = {}, options: CallOptions = {}) =>
    call("listFilms", {}, { ...options, query });

  /** Polls without retries, because waitFor retries. */
  const poll = async (filmId: string, { limitMs, signal }: PollOptions) => {
    const read = await operateOnce("readFilm", { filmId }, { limitMs, signal });
    return { ...read, etag: null, retryAfterSeconds: read.retryAfterSeconds ?? pauseOf(read.data) };
  };

  return {
    create: (json: BodyOf<"createFilm">, options: StartOptions = {}) => call("createFilm", {}, { ...options, json }),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    each: (query: QueryOf<"listFilms"> = {}, options: CallOptions = {}) =>
      eachRow(list, (page) => page.films, query, options),

    /** The film with its shots in order, each with the latest prediction and the shown take of each step. */
    read: (filmId: string, options: CallOptions = {}) => call("readFilm", { filmId }, options),

    /** `projectIds` orders the shots: pass `unchangedSince`, so that no shot that someone else added is lost. */
    change: (filmId: string, json: BodyOf<"changeFilm">, options: ChangeOptions = {}) =>
      call("changeFilm", { filmId }, { ...options, json }),

    /**
     * Starts a step for the shots that are missing it, for all or for none. If some cannot start, it throws before anything is charged, and
     * `details` of the error names them by their projectId.
     */
    generate: (filmId: string, step: Step, json: BodyOf<"startFilm"> = {}, options: StartOptions = {}) =>
      call("startFilm", { filmId, step }, { ...options, json }),

    /**
     * Resolves with the film when nothing runs in it. Takes the film as it was read, or `{ filmId }`. A prediction that failed does not
     * throw. Throws a KeyframeError when the service refuses or is down for minutes, with code `timeout` after timeoutMs.
     */
    waitFor: (film: FilmWithShots | Pick<Film, "filmId">, options: FilmWaitOptions = {}): Promise<FilmWithShots> => {
      const known = "shots" in film ? film : undefined;
      const wait = {
        name: "film",
        known,
        first: known && { etag: null, retryAfterSeconds: pauseOf(known) },
        poll: (look: PollOptions) => poll(film.filmId, look),
        hasEnded: (seen: FilmWithShots) => runningIn(seen).length === 0,
        changeOf: () => "progress" as const,
      };
      return waitFor(wait, options, settings);
    },

    /** The price of generate, and the shots that cannot start. With `quote`, startQuote starts the others. */
    estimate: async (
      filmId: string,
      step: Step,
      json: BodyOf<"estimateFilm"> = {},
      { quote, ...options }: CallOptions & { quote?: boolean | undefined } = {},
    ) => call("estimateFilm", { filmId, step }, { ...options, json, query: { quote: quote ? "true" : undefined } }),

    /** Deletes a film and keeps its projects. With `projects: "delete"` they and their files are deleted too, which cannot be undone. */
    delete: (filmId: string, query: QueryOf<"deleteFilm"> = {}, options: ChangeOptions = {}) =>
      call("deleteFilm", { filmId }, { ...options, query }),

    /** Creates a link to a film. Anyone with `token`, which is returned only once, can read the film by `readShared`. */
    share: (filmId: string, json: BodyOf<"shareFilm"> = {}, options: StartOptions = {}) =>
      call("shareFilm", { filmId }, { ...options, json }),

    /** The shares that have not expired, newest first. */
    shares: async (filmId: string, options: CallOptions = {}) => (await call("listShares", { filmId }, options)).shares,

    revokeShare: (filmId: string, shareId: string, options: CallOptions = {}) =>
      call("revokeShare", { filmId, shareId }, options),

    /** Reads the film of a link. Needs no session, and sends none. */
    readShared: (token: string, options: CallOptions = {}) => call("readShared", { token }, options),
  };
}
