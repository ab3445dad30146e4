import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addFilm } from "../../support/database/films.ts";
import { addWorld, type Input, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { addReference, start, type Wanted } from "../../support/database/user.ts";
import { call } from "../../support/database/webhooks.ts";

// Elements: characters, places, props and styles that return, and what starts make of them.
const db = useDatabase();
const world = useWorld(db);
let film: string;
beforeEach(async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 1000`;
  film = await addFilm(db, world.owner);
  await change("update_project", { project_id: world.project, changes: { film_id: film } });
});

type Element = { id: string; name: string; text: string; image_paths: string[]; updated_at: string };
type Found = { outdated: boolean; changed_elements: object[]; input: Input };

const change = (name: string, args: Parameters<typeof call>[3], owner = world.owner) =>
  call<object>(db, owner, name, args);
const add = async (name: string, fields: Partial<Element> = {}, owner = world.owner) =>
  (await call<{ element: Element }>(db, owner, "create_element", { kind: "character", name, ...fields })).element;
const edit = async (id: string, changes: object, more: Record<string, object> = {}) =>
  (await call<{ element: Element }>(db, world.owner, "update_element", { element_id: id, changes, ...more })).element;
const remove = (id: string) => change("delete_element", { element_id: id });
const cast = (...ids: string[]) => change("update_film", { film_id: film, changes: { element_ids: ids } });
const ofProject = (ids: string[] | null) =>
  change("update_project", { project_id: world.project, changes: { element_ids: ids } });
const begin = async (input: Record<string, unknown> = {}, more: Wanted = {}) =>
  (await start(db, world, { input, ...more })).prediction.input;
const refused = async (input: Record<string, unknown>, more: Wanted = {}) => {
  const { message, detail } = await refusalOf(start(db, world, { input, ...more }));
  return `${message}: ${detail}`;
};
const namesIn = ({ elements = [] }: Input) => elements.map(({ name }) => name);
const upload = (owner = world.owner) => addReference(db, owner);
const removals = async () =>
  (await db.sql`select bucket || '/' || name as path from keyframe_private.file_removals`).map(({ path }) => path);
const listsOf = async () => {
  const [row] = await db.sql`
    select f.element_ids as film, p.element_ids as project from keyframe.films f join keyframe.projects p on p.film_id = f.id
    where f.id = ${film}`;
  return row;
};

/** How often a call reads a table: each statement of it that does counts, and each key that is looked up. */
const readsOf = (table: string, query: string) =>
  db.asUser(world.owner, async (sql) => {
    const count = async () => {
      const [row] = await sql<{ reads: number }[]>`
        select pg_stat_get_xact_numscans(oid)::int + (
          select sum(pg_stat_get_xact_numscans(indexrelid))::int from pg_index where indrelid = oid) as reads
        from pg_class where oid = ${table}::regclass`;
      return row?.reads ?? 0;
    };
    const before = await count(); // of earlier transactions of the connection too
    await sql.unsafe(query);
    return (await count()) - before;
  });

describe("the cost of reading elements", () => {
  test("a prompt that names an element 900 times → is priced with as many reads of elements as one that names it once", async () => {
    await cast((await add("Bo")).id);
    const reads = (times: number) =>
      readsOf(
        "keyframe.elements",
        `select keyframe.estimate_prediction('${world.project}', 'first-frame', '{"prompt": "${"@Bo ".repeat(times)}"}')`,
      );
    expect(await reads(900)).toBe(await reads(1));
  });

  test("whether an image is used → looked up by index among all elements, with a plan for its path and for any", async () => {
    await db.sql.begin(async (sql) => {
      const scans = () => scalar(sql`select pg_stat_get_xact_numscans('keyframe.elements'::regclass)`);
      const before = await scans();
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        await sql`select set_config('plan_cache_mode', ${mode}, true)`;
        await sql`select keyframe_private.is_reference_used('projects/none.png')`;
      }
      expect(await scans()).toBe(before);
    });
  });

  test("a prompt of more than 4000 characters → refused before it is searched for element names", async () => {
    await cast((await add("Bo")).id);
    expect(await refused({ prompt: "@nobody".padEnd(4001, "@") })).toBe(
      "invalid_request: prompt must have at most 4000 characters.",
    );
  });

  test("a film whose takes have a full cast each → an answer as long as without, and at most 30 kB for a shot", async () => {
    const text = "x".repeat(4_000);
    await change("update_project", { project_id: world.project, changes: { text_prompt: text, description: text } });
    const paths = await Promise.all(Array.from({ length: 8 }, () => upload()));
    for (let number = 0; number < 20; number++)
      await add(`Bo ${number}`, { text: "x".repeat(190), image_paths: paths });
    const [cast] = await db.sql<{ elements: NonNullable<Input["elements"]> }[]>`
      select jsonb_agg(keyframe_private.element_record(e)) as elements from keyframe.elements e where e.owner_id = ${world.owner}`;
    const takes = async (elements: NonNullable<Input["elements"]>) => {
      for (const step of ["video", "first-frame", "last-frame"] as const) // a video brings a first frame
        await seedPrediction(db.sql, world, { status: "succeeded", step, input: { prompt: text, elements } });
      const answer = await call<{ shots: { predictions: { prediction: Found }[] }[] }>(db, world.owner, "read_film", {
        film_id: film,
      });
      expect(answer.shots.flatMap(({ predictions }) => predictions)).toHaveLength(3);
      return JSON.stringify(answer.shots).length;
    };
    const bytes = await takes(cast?.elements ?? []);
    expect(Math.abs(bytes - (await takes([])))).toBeLessThan(100); // an empty list, and times of other lengths
    expect(bytes).toBeLessThan(30_000);
  });
});

describe("an element", () => {
  test("an administrator gives an element to another user → refused while its images are not that user's", async () => {
    const { id } = await add("Bo", { image_paths: [await upload()] });
    const give = (owner: string) => db.sql`update keyframe.elements set owner_id = ${owner} where id = ${id}`;
    const other = await db.addUser();
    expect(await codeOf(give(other))).toBe("not_found");
    await edit(id, { image_paths: [] });
    await give(other);
  });

  test("an element is created, changed and read → its fields, and its images in order; each real change raises its version", async () => {
    const [one, two] = [await upload(), await upload()];
    const made = await add("Anna", { text: "Red coat", image_paths: [two, one] });
    expect(made).toMatchObject({ name: "Anna", text: "Red coat", image_paths: [two, one] });
    const versions = [made.updated_at];
    for (const changes of [{ name: "Anne" }, { image_paths: [one] }, { text: "", image_paths: [] }])
      versions.push((await edit(made.id, changes)).updated_at);
    expect([...new Set(versions)].toSorted()).toEqual(versions);
    const same = await edit(made.id, { name: "Anne", image_paths: [] });
    expect(same).toMatchObject({ name: "Anne", text: "", image_paths: [], updated_at: versions.at(-1) });
    for (const stale of [{ versions: [new Date(versions[0] ?? "").toISOString()] }, { versions: [null] }]) {
      expect(await codeOf(edit(made.id, { name: "Ann" }, stale))).toBe("precondition_failed");
      expect(await codeOf(change("delete_element", { element_id: made.id, ...stale }))).toBe("precondition_failed");
    }
  });

  test("an owner's five hundred and first element → refused", async () => {
    await db.sql`
      insert into keyframe.elements (owner_id, kind, name) select ${world.owner}, 'prop', 'p' || i from generate_series(1, 500) i`;
    expect((await refusalOf(add("Anna"))).detail).toBe("You have 500 elements already. Delete one first.");
    await add("Anna", {}, (await addWorld(db)).owner);
  });

  test("another user's image or element, or one that never existed → not_found, and nothing is stored", async () => {
    const other = await addWorld(db);
    const theirs = await add("Anna", { image_paths: [await upload(other.owner)] }, other.owner);
    const image = theirs.image_paths[0] ?? "";
    const mine = await upload();
    const { message, detail } = await refusalOf(add("Anna", { image_paths: [mine, image] }));
    expect(message).toBe("not_found");
    expect(detail).toContain(`no uploaded image at ${image}.`);
    for (const id of [theirs.id, crypto.randomUUID()]) {
      expect(await codeOf(cast(id))).toBe("not_found");
      expect(await codeOf(ofProject([id]))).toBe("not_found");
      expect(await refused({ elementIds: [id] })).toBe(`not_found: You have no element with the elementId ${id}.`);
      expect(await refused({ elementIds: id })).toBe("invalid_request: elementIds must be a list.");
      expect(await codeOf(edit(id, { name: "x" }))).toBe("not_found");
      expect(await codeOf(remove(id))).toBe("not_found");
    }
    const straight = (sql: string) => db.asUser(world.owner, (user) => user.unsafe(sql));
    expect(await straight("select * from keyframe.elements union all select e.* from keyframe.elements e")).toEqual([]);
    const direct = `update keyframe.films set element_ids = '{${theirs.id}}' where id = '${film}'`;
    expect(await codeOf(straight(direct))).toBe("not_found");
    expect(await listsOf()).toEqual({ film: [], project: null });
  });

  test("an image of an element → kept; replaced, or deleted with the element → removed, unless something else uses it", async () => {
    const [own, shared, replaced] = [await upload(), await upload(), await upload()];
    await db.sql`update keyframe.projects set reference_image_path = ${shared} where id = ${world.project}`;
    const { id } = await add("Anna", { image_paths: [own, shared, replaced] });
    await db.sql`update storage.objects set created_at = now() - interval '1 year'`;
    await db.sql`select keyframe_private.add_removals_of_unused_uploads()`;
    const listed = async (path: string) => (await removals()).includes(path);
    expect([await listed(own), await listed(replaced)]).toEqual([false, false]);
    await edit(id, { image_paths: [shared, own] });
    expect([await listed(own), await listed(shared), await listed(replaced)]).toEqual([false, false, true]);
    await remove(id);
    expect([await listed(own), await listed(shared)]).toEqual([true, false]);
  });

  test("an element is deleted → it leaves films and projects, whose versions move; its takes still explain it, with images", async () => {
    const path = await upload();
    const [anna, tom] = [await add("Anna", { text: "Red coat", image_paths: [path] }), await add("Tom")];
    await cast(anna.id, tom.id);
    await ofProject([anna.id]);
    const { prediction } = await start(db, world);
    const before = await db.sql`select updated_at from keyframe.films where id = ${film}`;
    await remove(anna.id);
    expect(await listsOf()).toEqual({ film: [tom.id], project: [] });
    expect(await db.sql`select updated_at from keyframe.films where id = ${film}`).not.toEqual(before);
    const kept = await scalar(db.sql`select input from keyframe.predictions where id = ${prediction.id}`);
    const record = { elementId: anna.id, name: "Anna", text: "Red coat", imagePaths: [path] };
    expect(kept.elements).toMatchObject([record]);
    expect(await removals()).not.toContain(path);
  });

  test("an account is deleted → its elements are deleted, and their images are removed", async () => {
    const path = await upload();
    await cast((await add("Anna", { image_paths: [path] })).id);
    await db.sql`delete from auth.users where id = ${world.owner}`;
    expect(await db.sql`select from keyframe.elements where owner_id = ${world.owner}`).toEqual([]);
    expect(await removals()).toContain(path);
  });
});

describe("a start", () => {
  let anna: Element;
  let tom: Element;
  let harbour: Element;
  beforeEach(async () => {
    anna = await add("Anna", { text: "A woman of 30\nin a red coat", image_paths: [await upload(), await upload()] });
    tom = await add("Tom", { text: "A sailor", image_paths: [await upload()] });
    harbour = await add("Old Harbour", { image_paths: [await upload()] });
  });

  test("a start with a cast → the elements' texts are in the prompt, their images among the references, with each version", async () => {
    await cast(tom.id, anna.id, harbour.id);
    const own = await upload();
    const input = await begin({ prompt: "They meet", referenceImagePaths: [own, ...tom.image_paths] });
    expect(input.prompt).toBe("They meet\n\nTom: A sailor\nAnna: A woman of 30\nin a red coat");
    expect(input.referenceImagePaths).toEqual([own, ...tom.image_paths, ...anna.image_paths, ...harbour.image_paths]);
    expect(input.elements).toEqual(
      [tom, anna, harbour].map(({ id, name, text, image_paths, updated_at }) => ({
        ...{ elementId: id, name, text, imagePaths: image_paths },
        updatedAt: new Date(updated_at).toISOString(),
      })),
    );
    const used = db.sql`select from keyframe_private.prediction_images where path = any (${anna.image_paths})`;
    expect(await used).toHaveLength(2);
  });

  test("elementIds of a start, a project and a film → the first list given applies; an empty list → no elements", async () => {
    expect(await begin()).not.toHaveProperty("elements");
    await cast(anna.id, tom.id);
    expect(namesIn(await begin())).toEqual(["Anna", "Tom"]);
    await ofProject([tom.id]);
    expect(namesIn(await begin({ elementIds: null }))).toEqual(["Tom"]);
    expect(namesIn(await begin({ elementIds: [harbour.id] }))).toEqual(["Old Harbour"]);
    expect(await begin({ elementIds: [], prompt: "A sign: @harbour" })).toMatchObject({ prompt: "A sign: @harbour" });
    await ofProject([]);
    expect(await begin()).not.toHaveProperty("elements");
    await ofProject(null);
    expect(namesIn(await begin())).toEqual(["Anna", "Tom"]);
  });

  test("a prompt with @name → uses only that element of the cast, added to those of the start; its name stays in the prompt", async () => {
    await cast(anna.id, tom.id, harbour.id);
    const prompt = "In @old harbour, @TOM's boat; mail a@b.example @ noon";
    const input = await begin({ prompt });
    expect(namesIn(input)).toEqual(["Old Harbour", "Tom"]);
    expect(input.prompt).toBe("In Old Harbour, Tom's boat; mail a@b.example @ noon\n\nTom: A sailor");
    expect(namesIn(await begin({ prompt, elementIds: [anna.id] }))).toEqual(["Anna", "Old Harbour", "Tom"]);
    await ofProject([anna.id]);
    expect(namesIn(await begin({ prompt: "@Tom" }))).toEqual(["Anna", "Tom"]);
  });

  test("@name that fits several elements → the longest name; a name that goes on with a letter → refused, not quoting the prompt", async () => {
    const old = await add("Old");
    await cast(old.id, harbour.id, tom.id);
    expect(namesIn(await begin({ prompt: "@Old Harbour and @old boats" }))).toEqual(["Old Harbour", "Old"]);
    expect(await refused({ prompt: "@Old boats and @Tommy" })).toBe(
      "invalid_request: “@Tommy” isn't in the cast (Old, Old Harbour, Tom). Fix the name, or put a space after the @.",
    );
  });

  test("an accent in a name and in its prompt, composed or not → that element, never one whose name has no accent", async () => {
    const names = ["Jose", "Jose\u0301", "क", "Re"];
    const ids = [];
    for (const name of names) ids.push((await add(name)).id);
    await cast(...ids);
    for (const prompt of ["@Jos\u00e9 waits", "@JOSE\u0301 waits", "@jose\u0301's boat", "In fog @Jos\u00e9"])
      expect(namesIn(await begin({ prompt }))).toEqual(["Jose\u0301"]);
    expect(namesIn(await begin({ prompt: "@Jose waits" }))).toEqual(["Jose"]);
    // A mark makes another letter, so these are other names than those of the cast.
    for (const prompt of ["@Rex\u0302 waits", "@Re\u0323\u0302 waits", "@क् waits", "@Jose\u0301\u0323 waits"])
      expect(await refused({ prompt })).toContain("isn't in the cast (");
    // The letter before an @ may have a mark: an address, which is left as it is.
    expect(namesIn(await begin({ prompt: "Mail Rex\u0302@Jose.example" }))).toEqual(names);
  });

  test("two elements whose names differ only in how an accent is encoded → the first of the cast", async () => {
    const [composed, decomposed] = [await add("Ren\u00e9e"), await add("Rene\u0301e")];
    for (const [first, second] of [[composed, decomposed] as const, [decomposed, composed] as const]) {
      await cast(first.id, second.id);
      for (const prompt of ["@Ren\u00e9e waits", "@rene\u0301e waits"])
        expect((await begin({ prompt })).elements).toMatchObject([{ elementId: first.id }]);
    }
  });

  test("a combining mark after a name → belongs to the name, so that the shorter name is not found", async () => {
    // Of the scripts in use today, without those that displays may ignore.
    const marks = Array.from({ length: 0xffff }, (_, at) => at + 1).filter((point) =>
      /^(?!\p{Default_Ignorable_Code_Point})\p{M}$/u.test(String.fromCodePoint(point)),
    );
    const missed = db.sql`
      select to_hex(i) from unnest(${marks}::int[]) i where not keyframe_private.continues_a_name(chr(i))`;
    expect(await missed).toEqual([]);
    const ends = " .,'!…–»।、。(/-".split("");
    const taken = db.sql`select c from unnest(${["", ...ends]}::text[]) c where keyframe_private.continues_a_name(c)`;
    expect(await taken).toEqual([]);
  });

  test("@name without a cast → refused; an email address, a lone @, or a start with no elements → the prompt is left as it is", async () => {
    expect(await refused({ prompt: "A sign: @harbour" })).toContain("“@harbour” isn't in the cast.");
    const prompt = "Mail a@b.example @ noon";
    expect(await begin({ prompt })).toMatchObject({ prompt });
    const sign = { prompt: "A sign: @harbour" };
    expect(await begin({ ...sign, elementIds: [] })).toMatchObject(sign);
  });

  test("a video that starts at a frame → the texts of its cast; images only of elements that the start names", async () => {
    await seedPrediction(db.sql, world, { status: "succeeded" });
    await cast(anna.id, tom.id);
    const more = { step: "video", model: "kwaivgi/kling-v3-omni-video" };
    const ofCast = await begin({}, more);
    expect(ofCast.referenceImagePaths).toEqual([]);
    expect(ofCast.prompt).toContain("Tom: A sailor");
    const named = await begin({ elementIds: [tom.id] }, more);
    expect(named.referenceImagePaths).toEqual(tom.image_paths);
    const without = { ...more, model: "kwaivgi/kling-v2.1" };
    expect(await refused({ elementIds: [tom.id] }, without)).toMatch(
      /^unsupported_input: kwaivgi\/kling-v2.1 takes 0 reference images, and 1 would be sent, the images of its elements among them: use fewer elements\./,
    );
  });

  test("more elements than a model or a start takes → refused, with how many; nothing is reserved", async () => {
    const one = { model: "black-forest-labs/flux-kontext-pro" };
    expect(await refused({ elementIds: [anna.id] }, one)).toContain("takes 1 reference images, and 2 would be sent");
    const long = await Promise.all(Array.from({ length: 5 }, (_, i) => add(`Long ${i}`, { text: "a".repeat(1000) })));
    expect(await refused({ elementIds: long.map(({ id }) => id), prompt: "b" })).toMatch(
      /^unsupported_input: The prompt has 5047 characters with the texts of its 5 elements, and the maximum is 4000\./,
    );
    const many = await Promise.all(Array.from({ length: 21 }, (_, i) => add(`Many ${i}`)));
    await cast(...many.map(({ id }) => id));
    expect(await refused({})).toMatch(
      /^invalid_request: A start can use at most 20 elements, and this one would use 21\./,
    );
    expect(await codeOf(cast(...Array.from({ length: 51 }, () => anna.id)))).toBe("invalid_request");
    expect(await codeOf(cast(anna.id, anna.id))).toBe("invalid_request");
    expect(await db.sql`select from keyframe_private.provider_submits where owner_id = ${world.owner}`).toEqual([]);
  });

  test("an estimate with elements → the same input as the start, with the elements' images priced", async () => {
    await cast(anna.id, tom.id);
    const model = "black-forest-labs/flux-2-pro"; // by megapixels of its images
    const args = { project_id: world.project, step: "first-frame", model };
    type Estimated = { estimate: { estimateMicros: number } };
    const estimate = async (input: object) =>
      (await call<Estimated>(db, world.owner, "estimate_prediction", { ...args, input })).estimate.estimateMicros;
    const [none, all] = [await estimate({ elementIds: [] }), await estimate({})];
    expect(all - none).toBe(3 * 15_000);
    const { prediction } = await start(db, world, { model });
    const held = db.sql`select most_micros::int from keyframe_private.provider_submits where prediction_id = ${prediction.id}`;
    expect(await scalar(held)).toBe(all);
  });

  test("the input of an answer is sent again → the same input, even if an element has changed or was deleted since", async () => {
    await cast(anna.id, harbour.id);
    const input = await begin({ prompt: "At @Old Harbour stands @Anna" });
    await edit(anna.id, { text: "Yellow coat" });
    await remove(harbour.id);
    expect(await begin(input)).toEqual(input);
    const nothing = await begin({ elementIds: [] });
    expect(await begin({ ...nothing, elements: [] })).toEqual(nothing); // as the API answers
    expect(namesIn(await begin({ ...input, prompt: "Nobody" }))).toEqual(["Old Harbour"]);
    expect(await refused({ ...input, elementIds: [anna.id] })).toContain("Send elementIds or elements, not both.");
  });

  test.each<[string, (record: object) => unknown]>([
    ["no list", () => "Anna"],
    ["an entry that is not an object", () => [1]],
    ["no name", (record) => [{ ...record, name: undefined }]],
    ["another id", (record) => [{ ...record, elementId: "Anna" }]],
    ["a time that is none", (record) => [{ ...record, updatedAt: "infinity" }]],
    ["a time of no calendar", (record) => [{ ...record, updatedAt: "2026-99-99T99:99:99.999Z" }]],
    ["a path that is none", (record) => [{ ...record, imagePaths: ["/etc/passwd"] }]],
    ["a path to the folder above", (record) => [{ ...record, imagePaths: ["projects/.."] }]],
    ["a terminal escape in a name", (record) => [{ ...record, name: "Anna\u001b[2J" }]],
    ["21 entries", (record) => Array(21).fill(record)],
  ])("elements with %s → invalid_request", async (_what, make) => {
    const { elements = [], ...input } = await begin({ elementIds: [anna.id] });
    const wrong = { ...input, elements: make({ ...elements[0] }) };
    expect(await codeOf(start(db, world, { input: wrong }))).toBe("invalid_request");
  });

  test("an element is changed → its takes are outdated, and say why; changed back, or only its kind → they are not", async () => {
    await cast(anna.id, tom.id);
    const take = await seedPrediction(db.sql, world, { status: "succeeded", input: await begin() });
    const read = async () => {
      const args = { project_id: world.project, step: "first-frame", prediction_id: take.id };
      const { prediction } = await call<{ prediction: Found }>(db, world.owner, "read_prediction", args);
      return [prediction.outdated, prediction.changed_elements];
    };
    expect(await read()).toEqual([false, []]);
    await edit(anna.id, { name: "Anne", text: "Yellow coat" });
    await edit(tom.id, { image_paths: [] });
    const annas = { elementId: anna.id, name: "Anna", changed: ["name", "text"] };
    expect(await read()).toEqual([true, [annas, { elementId: tom.id, name: "Tom", changed: ["imagePaths"] }]]);
    await edit(anna.id, { name: anna.name, text: anna.text, kind: "style" });
    await edit(tom.id, { image_paths: tom.image_paths });
    expect(await read()).toEqual([false, []]);
    await remove(tom.id);
    expect(await read()).toEqual([true, [{ elementId: tom.id, name: "Tom", changed: ["deleted"] }]]);
  });

  test("a model becomes unavailable while its prediction waits → the next model gets the same elements", async () => {
    await cast(tom.id);
    const { prediction } = await start(db, world, { model: null });
    const moved = db.sql`
      select keyframe_private.resolve_input(p.input, o, m) from keyframe.predictions p
      join keyframe.projects o on o.id = p.project_id join keyframe.models m on m.step = p.step and m.model = 'bytedance/seedream-4'
      where p.id = ${prediction.id}`;
    const { prompt, elements, referenceImagePaths } = prediction.input;
    expect(await scalar(moved)).toMatchObject({ prompt, elements, referenceImagePaths });
  });
});
