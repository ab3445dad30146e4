import { type Clock, systemClock } from "../../../../shared/worker/clock.ts";
import { createPlaces, type Line, type PlacesReport } from "../../../../shared/worker/places.ts";

/** Creates and copies of videos take seconds; slower work counts as hanging. */
const SLOW_MS = 10_000;
/** Before a resource has answered anybody, and before it has answered an owner: as many as an owner has slots. */
const RESOURCE_FIRST = 8;
const OWNER_FIRST = 4;
/** What is known of that many owners at resources is told to a claim: some ten kilobytes. */
const MAX_LINES = 200;

/** The resource of a task, which can be slow for many owners at once, and the task's owner. A task without an owner has its own place. */
export type Needs = { owner_id?: string | undefined; resource?: string | undefined };

/** How many tasks a claim may bring of each resource, as choose_due (SQL) reads it. " " is any output that is not named, "" anything else. */
export type Room = Record<string, ResourceRoom>;
type ResourceRoom = {
  all: number;
  /** By owners that are not named; `each`: by one of those. */
  new: number;
  each: number;
  owners: Record<string, number>;
};

type Known = { line: Line; owner: string; resource: string; open: number };

/** A copy of an output: its resource is a host and a model (resource_of in SQL). */
const isCopy = (resource: string) => resource.includes(" ");

/**
 * The places of a process's tasks: a hanging model, output or input leaves places for others. Copies have places of their own, because
 * they cost memory: about 2 MB each while the output's host is faster than Storage (docs/decisions/0033).
 */
export function createTaskPlaces(most: { copies: number; others: number }, clock: Clock = systemClock) {
  const rules = { copies: createRule(most.copies, clock), others: createRule(most.others, clock) };
  const ruleOf = (resource: string) => (isCopy(resource) ? rules.copies : rules.others);
  const known = new Map<string, Known>();

  function find({ owner_id: owner = "", resource = "" }: Needs): Known {
    const key = `${resource} ${owner}`;
    const line = known.get(key)?.line ?? ruleOf(resource).of({ owner, target: key, shared: resource });
    const entry = known.get(key) ?? { line, owner, resource, open: 0 };
    known.delete(key);
    known.set(key, entry);
    for (const [oldest, { open }] of known) {
      if (known.size <= MAX_LINES) break;
      if (open === 0) known.delete(oldest);
    }
    return entry;
  }

  return {
    /** How many of at most `most` may begin now. Owners are named where they differ from those that nobody knows. */
    room(most: number): Room {
      const room: Room = {};
      const roomOf = (resource: string): ResourceRoom => {
        const { roomOfNew } = ruleOf(resource);
        const ofNew = roomOfNew(resource, most, "each another");
        return { all: ofNew, new: ofNew, each: roomOfNew(resource, most, "the same"), owners: {} };
      };
      for (const { line, owner, resource, open } of known.values()) {
        const entry = room[resource] ?? roomOf(resource);
        room[resource] = entry;
        const own = line.room(most);
        entry.all = Math.max(entry.all, own);
        if (own < entry.each || open > 0 || (entry.new === 0 && own > 0)) entry.owners[owner] = own;
      }
      for (const unnamed of ["", " "]) room[unnamed] = roomOf(unnamed);
      return room;
    },

    /** Occupies a place during the work. A claim may return a few tasks more than there are places: they start anyway. */
    async hold(needs: Needs, work: () => Promise<void>): Promise<void> {
      const entry = find(needs);
      const place = entry.line.begin();
      entry.open += 1;
      try {
        await work();
      } finally {
        entry.open -= 1;
        place?.end();
      }
    },

    report(): PlacesReport {
      const [copies, others] = [rules.copies.report(), rules.others.report()];
      const slow = [...copies.slow, ...others.slow].toSorted((a, b) => b.open - a.open).slice(0, 5);
      return { of: copies.of + others.of, open: copies.open + others.open, slow };
    },
  };
}

function createRule(all: number, clock: Clock) {
  return createPlaces({
    // With 96, eight resources that begin to hang at once leave twenty places for the others.
    ...{ places: (all * 2) / 3, reserve: all / 3, slowMs: SLOW_MS, sharedFirst: RESOURCE_FIRST, now: clock.now },
    // One owner, or one resource, may have half of those that all share: more than half would leave too few when it begins to hang.
    ...{ targetFirst: OWNER_FIRST, ownerTrials: OWNER_FIRST, ownerPart: 1, sharedAreFew: true },
  });
}
