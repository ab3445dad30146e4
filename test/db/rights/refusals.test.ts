import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";

// Why each function that users call has the handler: docs/decisions/0035-a-share-for-every-owner.md.

const db = useDatabase();

const HANDLER = new RegExp(
  [
    String.raw`\nexception when sqlstate 'KEYFR' then`,
    String.raw`  get stacked diagnostics refused\.code = message_text, refused\.sentence = pg_exception_detail, refused\.hint = pg_exception_hint;`,
    String.raw`(?:  .*\n)*  return keyframe_private\.(?:refuse\(refused(?:, '\w+')?|refuse_shots\(refused, .*)\);`,
    String.raw`end\s*$`,
  ].join("\n"),
);
const called = (source: string) => [...source.matchAll(/\bkeyframe\w*\.(\w+)\(/g)].map(([, name = ""]) => name);
const changesRows = (source: string) => /\b(insert into|update|delete from) keyframe\./.test(source); // its triggers may refuse

test("each function that users call → returns every refusal of its body, which takes one token", async () => {
  const found = await db.sql<{ schema: string; name: string; source: string }[]>`
    select p.pronamespace::regnamespace::text as schema, p.proname as name, p.prosrc as source from pg_proc p
    where p.pronamespace in ('keyframe'::regnamespace, 'keyframe_private'::regnamespace)`;
  const refusing = new Set(["raise_error"]);
  for (let size = 0; size < refusing.size; ) {
    size = refusing.size;
    for (const { name, source } of found)
      if (changesRows(source) || called(source).some((one) => refusing.has(one))) refusing.add(name);
  }
  const wrong = found.flatMap(({ schema, name, source }) => {
    if (schema !== "keyframe") return [];
    const [, declared = "", body = ""] = /^([\s\S]*?)\nbegin\n([\s\S]*)$/.exec(source) ?? ["", "", source];
    // What `declare` raises is not caught, and takes no token: only acquire_token may be there.
    if (called(declared).some((one) => refusing.has(one) && one !== "acquire_token"))
      return [`${name}: raises in declare`];
    const canRefuse = changesRows(body) || called(body).some((one) => refusing.has(one) && one !== "refuse");
    if (!canRefuse) return [];
    if (!HANDLER.test(body)) return [`${name}: no handler, or another one`];
    // A token that `declare` took stays taken. One of the body is undone with it, so the handler takes it again.
    const takesAgain = /keyframe_private\.(refuse\(refused, '|refuse_shots\()/.test(body);
    return takesAgain === declared.includes("acquire_token(") ? [`${name}: two tokens, or none`] : [];
  });
  expect(wrong).toEqual([]);
});
