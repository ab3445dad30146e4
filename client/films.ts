import { runningIn } from "./endings.ts";
import {
  call,
  type CallOptions,
  type ChangeOptions,
  eachRow,
  outcomeOf,
  requestOf,
  type StartOptions,
} from "./operate.ts";
import { mustBeStep } from "./routes.ts";
import { sendOnce } from "./send-once.ts";
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
import { type PollOptions, type PollResult, type WaitOptions, waitFor } from "./wait-for.ts";

export type FilmWaitOptions = Omit<WaitOptions, "onProgress"> & {
  /** Called first, and after each read. */
  onProgress?: ((film: FilmWithShots) => void) | undefined;
};

const LONGEST_PAUSE_S = 10;

/** A read uses a token of the user's rate limit, and one more for each ten shots, so a long film is read less often. */
const pauseOf = ({ shots }: FilmWithShots): number => Math.min(LONGEST_PAUSE_S, 1 + shots.length / 10);

export function filmMethods(settings: Settings) {
  const list = async (query: QueryOf<"listFilms"> = {}, options: CallOptions = {}): Promise<FilmPage> =>
    call("listFilms", {}, { ...options, query }, settings);

  /** Without retries, because waitFor retries. */
  const poll = async (filmId: string, { limitMs, signal }: PollOptions): Promise<PollResult<FilmWithShots>> => {
    const answer = await sendOnce(requestOf("readFilm", { filmId }, { limitMs, signal }, settings), settings);
    const { data, retryAfterSeconds } = outcomeOf<FilmWithShots>(answer, settings);
    return { state: data, etag: null, retryAfterSeconds: retryAfterSeconds ?? pauseOf(data), waited: false };
  };

  return {
    create: async (json: BodyOf<"createFilm">, options: StartOptions = {}): Promise<Film> =>
      call("createFilm", {}, { ...options, json }, settings),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    each: (query: QueryOf<"listFilms"> = {}, options: CallOptions = {}): AsyncGenerator<Film, void, undefined> =>
      eachRow(list, "films", query, options),

    /** The film with its shots in order, each with the latest prediction and the shown take of each step. */
    read: async (filmId: string, options: CallOptions = {}): Promise<FilmWithShots> =>
      call("readFilm", { filmId }, options, settings),

    /** `projectIds` orders the shots: pass `unchangedSince`, so that no shot that someone else added is lost. */
    change: async (filmId: string, json: BodyOf<"changeFilm">, options: ChangeOptions = {}): Promise<Film> =>
      call("changeFilm", { filmId }, { ...options, json }, settings),

    /**
     * Starts a step for the shots that are missing it, for all or for none. If some cannot start, it throws before anything is charged, and
     * `details` of the error names them by their projectId.
     */
    generate: async (
      filmId: string,
      step: Step,
      json: BodyOf<"startFilm"> = {},
      options: StartOptions = {},
    ): Promise<StartedFilm> => call("startFilm", { filmId, step: mustBeStep(step) }, { ...options, json }, settings),

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

    /** The price of generate, and the shots that cannot start. `quote`: for startQuote, which starts the others. */
    estimate: async (
      filmId: string,
      step: Step,
      json: BodyOf<"estimateFilm"> = {},
      { quote, ...options }: CallOptions & { quote?: boolean | undefined } = {},
    ): Promise<FilmEstimate> => {
      const query = { quote: quote ? "true" : undefined };
      return call("estimateFilm", { filmId, step: mustBeStep(step) }, { ...options, json, query }, settings);
    },

    /** Keeps its projects, unless `projects: "delete"`: then they and their files are deleted, which cannot be undone. */
    delete: async (filmId: string, query: QueryOf<"deleteFilm"> = {}, options: ChangeOptions = {}): Promise<Film> =>
      call("deleteFilm", { filmId }, { ...options, query }, settings),

    /** Creates a link to it. Anyone with `token`, which is returned only once, can read the film by `readShared`. */
    share: async (filmId: string, json: BodyOf<"shareFilm"> = {}, options: StartOptions = {}): Promise<CreatedShare> =>
      call("shareFilm", { filmId }, { ...options, json }, settings),

    /** The shares that have not expired, newest first. */
    shares: async (filmId: string, options: CallOptions = {}): Promise<Share[]> =>
      (await call("listShares", { filmId }, options, settings)).shares,

    revokeShare: async (filmId: string, shareId: string, options: CallOptions = {}): Promise<Share> =>
      call("revokeShare", { filmId, shareId }, options, settings),

    /** Needs no session, and sends none. */
    readShared: async (token: string, options: CallOptions = {}): Promise<SharedFilm> =>
      call("readShared", { token }, options, settings),
  };
}
