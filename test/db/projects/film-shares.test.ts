import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addFilm, addShot } from "../../support/database/films.ts";
import { addWorld, seedPrediction, type World } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { call } from "../../support/database/webhooks.ts";

// Links to films. Over HTTP, and what an attacker tries: test/security/shared-films.test.ts.

type Share = { id: string; film_id: string; created_at: string; expires_at: string | null };
type Created = { share: Share; token: string; replayed: boolean };
type Shot = { title: string; video: object | null };
type Shared = { owner_id: string; title: string; rate: null; shots: Shot[] };

const db = useDatabase();
let world: World;
let film: string;
beforeEach(async () => {
  world = await addWorld(db);
  film = await addFilm(db, world.owner);
});

const addVideo = async (project: string, columns = {}) =>
  (await seedPrediction(db.sql, { ...world, project }, { status: "succeeded", step: "video", columns })).id;
const share = (args: Record<string, string | Date> = {}, owner = world.owner) =>
  call<Created>(db, owner, "share_film", { film_id: film, ...args });
const shares = async () =>
  (await call<{ shares: Share[] }>(db, world.owner, "list_film_shares", { film_id: film })).shares;
const revoke = (share_id: string) => call(db, world.owner, "revoke_film_share", { film_id: film, share_id });

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const open = (token: string) =>
  db.as({ role: "service_role" }, async (sql) => {
    const [row] = await sql<{ answer: Shared }[]>`select keyframe_worker.read_shared_film(${hashOf(token)}) as answer`;
    if (!row) throw new Error("read_shared_film gave no row.");
    return row.answer;
  });
const videosIn = async (token: string) => (await open(token)).shots.map(({ video }) => Object(video).path ?? null);
const later = (ms: number) => new Date(Date.now() + ms);
/** The end of each link of the film comes. */
const end = () => db.sql`update keyframe_private.film_shares set expires_at = now() where film_id = ${film}`;

describe("an open link", () => {
  test("an open link of a film → the film's title, and for each shot in order its title and the shown video; nothing else", async () => {
    const quay = await addShot(db, world.owner, film, { title: "Quay" });
    const boat = await addShot(db, world.owner, film, { title: "Boat" });
    const video = await addVideo(boat);
    const { token } = await share();
    const file = { content_type: "image/png", width: 640, height: 360, duration_seconds: 5 };
    const shots = [
      { title: "Quay", video: null },
      { title: "Boat", video: { path: `${world.owner}/${boat}/${video}.png`, ...file } },
    ];
    expect(await open(token)).toEqual({ owner_id: world.owner, title: "The pier", rate: null, shots });
    await call(db, world.owner, "update_film", { film_id: film, project_ids: [boat, quay] });
    expect((await open(token)).shots).toEqual(shots.toReversed());
  });

  test("an open link, of a shot with several takes → the selected one, else the latest that succeeded and is not hidden", async () => {
    const project = await addShot(db, world.owner, film, { title: "Boat" });
    const add = (minutes: number, more = {}) => addVideo(project, { created_at: later(minutes * 60_000), ...more });
    const [older, newer, hidden] = [await add(-3), await add(-2), await add(-1, { hidden: true })];
    await seedPrediction(db.sql, { ...world, project }, { status: "failed", step: "video" });
    const { token } = await share();
    expect(await videosIn(token)).toEqual([expect.stringContaining(newer)]);
    await db.sql`update keyframe.projects set selected_video_id = ${older} where id = ${project}`;
    expect(await videosIn(token)).toEqual([expect.stringContaining(older)]);
    expect(JSON.stringify(await open(token))).not.toContain(hidden);
  });
});

describe("a link that does not work", () => {
  const ended = async (token: string) => {
    const { message, detail } = await refusalOf(open(token));
    return [message, detail];
  };
  const never = () => ended("t".repeat(43));

  const ban = (ms: number) => db.sql`update auth.users set banned_until = ${later(ms)} where id = ${world.owner}`;
  test.each<[what: string, end: (created: Created) => Promise<unknown>]>([
    ["revoked", ({ share: { id } }) => revoke(id)],
    ["past its end", () => end()],
    ["of a deleted film", () => call(db, world.owner, "delete_film", { film_id: film })],
    ["of a deleted account", () => db.sql`delete from auth.users where id = ${world.owner}`],
    ["of a banned account", () => ban(60_000)],
  ])("a link that is %s → not_found, word for word as one that never existed", async (_what, end) => {
    const created = await share({ expires_at: later(60_000) });
    await open(created.token);
    await end(created);
    expect(await ended(created.token)).toEqual(await never());
    expect((await never())[0]).toBe("not_found");
  });

  test("a link of an account whose ban is over → works", async () => {
    const { token } = await share();
    await ban(-60_000);
    expect((await open(token)).title).toBe("The pier");
  });
});

test("another user revokes a share through a film of their own → not_found, and the link still works", async () => {
  const { share: made, token } = await share();
  const other = await db.addUser();
  const args = { film_id: await addFilm(db, other), share_id: made.id };
  expect(await codeOf(call(db, other, "revoke_film_share", args))).toBe("not_found");
  await open(token);
});

test("the token of a share → 43 characters, different for each share, and stored in no row and shown in no list", async () => {
  const [one, other] = [await share(), await share({ expires_at: "2036-11-21T12:00:00Z" })];
  for (const { token } of [one, other]) expect(token).toMatch(/^[\w-]{43}$/);
  expect(one.token).not.toBe(other.token);
  const [row] =
    await db.sql`select encode(token_hash, 'hex') as hash from keyframe_private.film_shares where id = ${one.share.id}`;
  expect(row).toEqual({ hash: hashOf(one.token) });
  const listed = await shares();
  expect(listed).toEqual([other.share, one.share]);
  expect(Object.keys(listed[0] ?? {})).toEqual(["id", "film_id", "created_at", "expires_at"]);
});

test("a repeated request for a share → the same share, and its first token ends; not if it has ended or was revoked", async () => {
  const keyOf = (letter: string) => ({ idempotency_key: crypto.randomUUID(), request_hash: letter.repeat(64) });
  const [key, short] = [keyOf("a"), keyOf("b")];
  const first = await share(key);
  const again = await share(key);
  expect([again.share, again.replayed]).toEqual([first.share, true]);
  expect(await codeOf(open(first.token))).toBe("not_found");
  await open(again.token);
  await revoke(first.share.id);
  expect(await codeOf(share(key))).toBe("not_found");
  await share({ ...short, expires_at: later(60_000) });
  await end();
  expect(await codeOf(share({ ...short, expires_at: later(60_000) }))).toBe("not_found");
});

test("a share whose end is in the past, or a 21st share → invalid_request; ended shares do not count and are pruned", async () => {
  expect(await codeOf(share({ expires_at: later(-1000) }))).toBe("invalid_request");
  for (let made = 0; made < 20; made++) await share({ expires_at: later(60_000) });
  expect(await codeOf(share())).toBe("invalid_request");
  await end();
  expect(await shares()).toEqual([]);
  await share();
  await db.sql`select keyframe_private.prune()`;
  const left = await db.sql`select from keyframe_private.film_shares where film_id = ${film}`;
  expect(left).toHaveLength(1);
});

describe("many people open links", () => {
  test("one link has used up its tokens → rate_limited; another link of the film works, and its owner can still read", async () => {
    const [busy, other] = [await share(), await share()];
    for (let shots = 0; shots < 20; shots++) await addShot(db, world.owner, film, { title: "Boat" });
    await open(busy.token); // three tokens: one, and one for each ten shots
    const [bucket] = await db.sql`
      select l.capacity - b.tokens as taken from keyframe_private.rate_buckets b join keyframe_private.rate_limits l using (route_class)
      where b.owner_id = ${busy.share.id}`;
    expect(bucket).toEqual({ taken: 3 });
    await db.sql`update keyframe_private.rate_buckets set tokens = 0, refilled_at = now() where owner_id = ${busy.share.id}`;
    expect(await codeOf(open(busy.token))).toBe("rate_limited");
    await open(other.token);
    await call(db, world.owner, "read_film", { film_id: film });
  });

  test("a third call at once for links of one owner → refused at once; a call for another owner's link is answered", async () => {
    const [one, two] = [await share(), await share()];
    const others = await addWorld(db);
    film = await addFilm(db, others.owner);
    const foreign = await share({}, others.owner);
    const whileOpened = ({ token }: Created, work: () => Promise<unknown>) =>
      db.sql.begin(async (sql) => {
        await sql`select keyframe_worker.read_shared_film(${hashOf(token)})`;
        await work();
      });
    await whileOpened(one, () =>
      whileOpened(two, async () => {
        const { message, hint } = await refusalOf(open(one.token));
        expect(message).toBe("rate_limited");
        expect(JSON.parse(hint ?? "")).toMatchObject({ policy: "calls", limit: 2 });
        await open(foreign.token);
      }),
    );
    await open(one.token);
  });
});
