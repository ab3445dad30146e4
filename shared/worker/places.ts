/**
 * What a piece of work depends on. `target`: what its owner uses alone, such as an endpoint. `shared`: what can be slow for many owners at
 * once, such as a receiver's host or a model.
 */
export type Keys = { owner: string; target: string; shared: string };

/** The places of work with the same keys. */
export type Line = {
  /** Whether one more may begin now. */
  hasPlace(): boolean;
  /** Begins one; null when it has no place now. */
  begin(): Place | null;
  /** How many more may begin now, of at most `most`. */
  room(most: number): number;
  /** How many it may have open by its own answers. */
  allowed(): number;
  /** Whether its owner may have one more open at a quick target, or at an unknown one. */
  ownerHasPlace(at: "quick" | "unproven"): boolean;
  /** Without a place: milliseconds until the next try. */
  pauseMs(): number;
};

/** A piece of work that has begun. */
export type Place = { end(): void };

/** Of `of` places. `slow`: the shared things that slow work waits for, at most five, the one with most work first. */
export type PlacesReport = { of: number; open: number; slow: { name: string; open: number; of: number }[] };

type PlacesSettings = {
  /** How many pieces of work a process may have open at any shared thing. */
  places: number;
  /** How many more it may have open at shared things with few (FEW): however many others hang, these begin. */
  reserve: number;
  /** Work that takes longer is slow, from then on and not only when it ends. */
  slowMs: number;
  /** How many a shared thing may have open before it has given a quick answer. */
  sharedFirst: number;
  /** Per owner, at a target that has not answered, and at all targets that have not been quick; one after a slow answer. */
  targetFirst?: number;
  ownerTrials?: number;
  /** An owner gets at most half of what others' quick work leaves of this part of all places. */
  ownerPart?: number;
  /** Shared things are few: the first place of each may be any, so that one that nobody knows is not behind all that hang. */
  sharedAreFew?: boolean;
  /** Milliseconds of a monotonic clock. */
  now(): number;
};

/**
 * A shared thing may have so many open however little the others leave, but not more than a sixth of what is free: the less is left, the
 * more of it is for those with few. `places` and `reserve` together are the bound: some twenty things that begin to hang at the same
 * moment, before they count as slow. With more, all wait for slowMs and longer.
 */
const FEW = 4;
const LEFT_PART = 6;
/** What has not been quick, unproven and slow together, begins within this part of all places. */
const NOT_QUICK_PART = 1 / 2;
/** A shared thing is judged by the last outcome of each of its most recent owners: by most of them, and by several. */
const RECENT_OWNERS = 16;
const SEVERAL_OWNERS = 3;
/** Per kind; the least recently used is dropped. About ten megabytes with keys of full length. */
const MAX_REMEMBERED = 10_000;
const MAX_KEY_LENGTH = 255;
const SHORTEST_PAUSE_MS = 50;
/** While unknown targets have all their places open. */
const CROWDED_PAUSE_MS = 500;

/** What a piece of work counts as: proven to be quick, not known yet, or slow. */
type Standing = "quick" | "unproven" | "slow";

type Owner = { open: number; trials: number; isSlow: boolean };
type Target = { open: number; allowed: number; isSlow: boolean; quickAt: number };
type Shared = {
  open: Set<Work>;
  slow: number;
  /** Open at targets that have never been quick, and not slow yet. */
  trials: number;
  /** How many may be open at targets that have been quick, and how many trials beside them. */
  allowed: number;
  /** Of its recent owners: whether the last answer was slow. */
  outcomes: Map<string, boolean>;
  isQuick: boolean;
  /** NEVER when it is not slow. */
  slowSince: number;
};
type Parts = { ownerId: string; owner: Owner; target: Target; shared: Shared };
type Work = Parts & { standing: Standing; isTrial: boolean; began: number; isJudged: boolean };

const NEVER = Number.NEGATIVE_INFINITY;
const newOwner = (): Owner => ({ open: 0, trials: 0, isSlow: false });

/**
 * The places of a process: how many pieces of work it may have open, so that a slow receiver, model or host does not delay other owners.
 *
 * - A target begins with `targetFirst`. Each quick answer allows one more, a slow one takes it back to one.
 * - A shared thing begins with `sharedFirst`. Each quick answer allows one more. It is slow when most of its recent owners were slow there:
 *   then it begins again, and its targets must show again that they are quick.
 * - A shared thing gets at most half of what others leave free, and FEW in any case, while six times as many are free. An owner gets at
 *   most half of it too, and half of what others' quick work leaves of `ownerPart`, and `targetFirst` in any case.
 * - What is unproven and what is slow share one half. What is unproven gets at most half of what is left there, and so does what is slow at
 *   one shared thing.
 */
export function createPlaces(settings: PlacesSettings) {
  const { places, reserve, slowMs, sharedFirst, targetFirst = 1, ownerTrials = 2, ownerPart = 1 / 2 } = settings;
  const { sharedAreFew = false, now } = settings;
  const all = places + reserve;
  const owners = new Map<string, Owner>();
  const targets = new Map<string, Target>();
  const shareds = new Map<string, Shared>();
  const open = new Set<Work>();
  const count: Record<Standing, number> = { quick: 0, unproven: 0, slow: 0 };
  let nextSlowAt = Number.POSITIVE_INFINITY;

  const newTarget = (): Target => ({ open: 0, allowed: targetFirst, isSlow: false, quickAt: NEVER });
  const newShared = (): Shared => ({
    ...{ open: new Set<Work>(), slow: 0, trials: 0, allowed: sharedFirst },
    ...{ outcomes: new Map<string, boolean>(), isQuick: false, slowSince: NEVER },
  });

  /** What the work would count as; null when it has no place now. */
  function standingOf(parts: Parts): Standing | null {
    findSlow();
    const { owner, target, shared } = parts;
    const hasRoom = open.size < all && ownerHasRoom(owner) && sharedHasRoom(shared) && target.open < target.allowed;
    return hasRoom ? (standings(parts).find((standing) => fits(standing, parts)) ?? null) : null;
  }

  const ownerHasRoom = (owner: Owner) =>
    owner.open < targetFirst || (count.quick + owner.open < places * ownerPart && open.size + owner.open < places);

  const sharedHasRoom = (shared: Shared) =>
    shared.open.size < Math.min(FEW, (all - open.size) / LEFT_PART) || open.size + shared.open.size < places;

  /** At a slow shared thing, work that may be quick is tried first as unproven, then as slow. */
  function standings({ owner, target, shared }: Parts): Standing[] {
    if (target.isSlow || (owner.isSlow && target.quickAt === NEVER)) return ["slow"];
    if (target.quickAt > shared.slowSince || shared.isQuick) return ["quick"];
    return shared.slowSince === NEVER ? ["unproven"] : ["unproven", "slow"];
  }

  function fits(standing: Standing, parts: Parts): boolean {
    const { owner, target, shared } = parts;
    if (isTrial(standing, parts) && owner.trials >= (owner.isSlow ? 1 : ownerTrials)) return false;
    const { unproven, slow } = count;
    const part = places * NOT_QUICK_PART;
    if (standing === "slow") return slow + Math.max(unproven, shared.slow) < part;
    const isNew = target.quickAt === NEVER;
    const isSlow = shared.slowSince !== NEVER;
    // Where many are slow, those who were quick do not wait for the trials of others.
    const isFull = isNew
      ? shared.trials >= (isSlow ? sharedFirst : shared.allowed)
      : shared.open.size - shared.slow - shared.trials >= shared.allowed;
    if (isFull || standing === "quick") return !isFull;
    if (sharedAreFew && shared.open.size === 0) return true;
    // However many are slow: those who may well be quick have an eighth of what is free.
    return 2 * unproven < Math.max(part - slow, isNew && isSlow ? 0 : (all - open.size) / 4);
  }

  function begin(parts: Parts): Work | null {
    const standing = standingOf(parts);
    if (standing === null) return null;
    const work: Work = { ...parts, standing, isTrial: false, began: now(), isJudged: false };
    open.add(work);
    work.shared.open.add(work);
    work.owner.open += 1;
    work.target.open += 1;
    enter(work, standing);
    nextSlowAt = Math.min(nextSlowAt, work.began + slowMs + 1);
    return work;
  }

  function end(work: Work): void {
    findSlow();
    if (free(work) && !work.isJudged) judge(work, false);
  }

  /** False when it is free already. */
  function free(work: Work): boolean {
    if (!open.delete(work)) return false;
    work.shared.open.delete(work);
    work.owner.open -= 1;
    work.target.open -= 1;
    leave(work);
    return true;
  }

  /** How many would begin now, one after the other. */
  function roomFor(next: () => Parts, most: number): number {
    const begun: Work[] = [];
    while (begun.length < most) {
      const work = begin(next());
      if (work === null) break;
      begun.push(work);
    }
    for (const work of begun) free(work);
    return begun.length;
  }

  function enter(work: Work, standing: Standing): void {
    work.standing = standing;
    work.isTrial = isTrial(standing, work);
    count[standing] += 1;
    if (work.isTrial) work.owner.trials += 1;
    if (standing === "slow") work.shared.slow += 1;
    else if (work.isTrial) work.shared.trials += 1;
  }

  function leave({ standing, isTrial, owner, shared }: Work): void {
    count[standing] -= 1;
    if (isTrial) owner.trials -= 1;
    if (standing === "slow") shared.slow -= 1;
    else if (isTrial) shared.trials -= 1;
  }

  /** Work that has become slow while it is open. */
  function findSlow(): void {
    const time = now();
    if (time < nextSlowAt) return;
    nextSlowAt = Number.POSITIVE_INFINITY;
    for (const work of open) {
      if (work.isJudged) continue;
      if (time - work.began <= slowMs) {
        nextSlowAt = work.began + slowMs + 1; // the others have begun later
        return;
      }
      leave(work);
      enter(work, "slow");
      judge(work, true);
    }
  }

  /** Once for each piece of work. */
  function judge(work: Work, isSlow: boolean): void {
    const { ownerId, owner, target, shared } = work;
    work.isJudged = true;
    owner.isSlow = isSlow;
    target.isSlow = isSlow;
    target.allowed = isSlow ? 1 : target.allowed + 1;
    if (!isSlow) {
      target.quickAt = now();
      shared.allowed += 1;
    }
    shared.outcomes.delete(ownerId);
    shared.outcomes.set(ownerId, isSlow);
    const [oldest] = shared.outcomes.keys();
    if (shared.outcomes.size > RECENT_OWNERS && oldest !== undefined) shared.outcomes.delete(oldest);
    shared.isQuick = isMostly(shared, false);
    if (!isMostly(shared, true)) shared.slowSince = NEVER;
    else if (shared.slowSince === NEVER) Object.assign(shared, { slowSince: now(), allowed: sharedFirst });
  }

  function pauseMs({ target, shared }: Parts): number {
    findSlow();
    if (target.isSlow || shared.slowSince !== NEVER) return slowMs;
    const [oldest] = shared.open;
    if (oldest === undefined) return open.size < all ? CROWDED_PAUSE_MS : SHORTEST_PAUSE_MS;
    return Math.min(slowMs, Math.max(SHORTEST_PAUSE_MS, Math.ceil(now() - oldest.began))); // soon, then ever later
  }

  return {
    /** Keep it for as long as there is work with these keys: it is faster than finding it again. */
    of(keys: Keys): Line {
      const parts: Parts = {
        ownerId: keys.owner.slice(0, MAX_KEY_LENGTH),
        owner: remember(owners, keys.owner, (owner) => owner.open > 0, newOwner),
        target: remember(targets, keys.target, (target) => target.open > 0, newTarget),
        shared: remember(shareds, keys.shared, (shared) => shared.open.size > 0, newShared),
      };
      return {
        hasPlace: () => standingOf(parts) !== null,
        begin: () => {
          const work = begin(parts);
          return work && { end: () => end(work) };
        },
        room: (most) => roomFor(() => parts, most),
        allowed: () => parts.target.allowed,
        ownerHasPlace: (at) => {
          findSlow();
          const unknown = { ...parts, target: newTarget(), shared: newShared() };
          return open.size < all && ownerHasRoom(parts.owner) && (at === "quick" || fits(at, unknown));
        },
        pauseMs: () => pauseMs(parts),
      };
    },

    /** How many more those who are new may begin at a shared thing, of at most `most`: one each, or all by the same. */
    roomOfNew(key: string, most: number, by: "each another" | "the same"): number {
      const shared = shareds.get(key.slice(0, MAX_KEY_LENGTH)) ?? newShared();
      const anybody = () => ({ ownerId: "", owner: newOwner(), target: newTarget(), shared });
      const somebody = anybody();
      return roomFor(by === "the same" ? () => somebody : anybody, most);
    },

    /** How many are open, and how many of them are slow. */
    counts() {
      findSlow();
      return { open: open.size, slow: count.slow };
    },

    report(): PlacesReport {
      findSlow();
      const slow = [...shareds].flatMap(([name, shared]) =>
        shared.slow > 0 ? [{ name, open: shared.slow, of: all }] : [],
      );
      return { of: all, open: open.size, slow: slow.toSorted((a, b) => b.open - a.open).slice(0, 5) };
    },
  };
}

/** Whether its own target has not been quick. Others' quick answers do not lift what an owner may try. */
const isTrial = (standing: Standing, { target }: Parts) => standing === "slow" || target.quickAt === NEVER;

/** Whether most of the recent owners were slow, or quick, and several. */
function isMostly({ outcomes }: Shared, slow: boolean): boolean {
  let same = 0;
  for (const isSlow of outcomes.values()) if (isSlow === slow) same += 1;
  return same >= SEVERAL_OWNERS && same * 2 > outcomes.size;
}

/** The entry of a key, made when it is missing. Those used longest ago go, but none that is in use. */
function remember<T>(entries: Map<string, T>, id: string, isUsed: (entry: T) => boolean, make: () => T): T {
  const key = id.slice(0, MAX_KEY_LENGTH);
  const entry = entries.get(key) ?? make();
  entries.delete(key);
  entries.set(key, entry);
  for (const [oldest, each] of entries) {
    if (entries.size <= MAX_REMEMBERED) break;
    entries.delete(oldest);
    if (isUsed(each)) entries.set(oldest, each);
  }
  return entry;
}
