import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { type ExtensionDatabase, extensionDatabase } from "./support/extension-database.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";

let database: ExtensionDatabase;
let sql: postgres.Sql;
let receiver: Receiver;
let release: () => void;

beforeAll(async () => {
  database = await extensionDatabase("pg_net");
  sql = database.as("postgres");
  const { promise: released, resolve } = Promise.withResolvers<void>();
  release = resolve;
  receiver = startReceiver(async (path) => {
    if (path === "/held") await released;
    if (path === "/hanging") await new Promise(() => undefined);
    if (path === "/json") return Response.json({ answer: 42 });
    return new Response(null, { status: 204 });
  });
});

afterAll(async () => {
  await database?.stop();
  await Promise.race([receiver.stop(), new Promise((resolve) => setTimeout(resolve, 100))]);
});

type Row = {
  status_code: number | null;
  content_type: string | null;
  headers: Record<string, string> | null;
  content: string | null;
  timed_out: boolean | null;
  error_msg: string | null;
};

async function post(path: string, base = receiver.url, timeout = 5000, by = sql): Promise<string> {
  const [row] = await by<{ id: string }[]>`
    select net.http_post(${base + path}, timeout_milliseconds := ${timeout}::int) as id`;
  return row?.id ?? "";
}

async function lastResponseAt(): Promise<string> {
  const [row] = await sql<{ at: string }[]>`select max(created)::text as at from net._http_response`;
  return row?.at ?? "";
}

function responseTo(id: string): Promise<Row> {
  return until(`a response to request ${id}`, async () => {
    const [row] = await sql<Row[]>`select * from net._http_response where id = ${id}`;
    return row;
  });
}

describe.concurrent("concurrent posts", () => {
  test("http_post → has pg_net's parameters, in its order, with its defaults", async () => {
    const functions = await sql`
      select pg_get_function_arguments(oid) as arguments, pg_get_function_result(oid) as result
      from pg_proc where pronamespace = 'net'::regnamespace and proname = 'http_post'`;
    const json = `headers jsonb DEFAULT '{"Content-Type": "application/json"}'::jsonb`;
    const params = "body jsonb DEFAULT '{}'::jsonb, params jsonb DEFAULT '{}'::jsonb";
    const timeout = "timeout_milliseconds integer DEFAULT 5000";
    expect([...functions]).toEqual([{ arguments: `url text, ${params}, ${json}, ${timeout}`, result: "bigint" }]);
  });

  test("anon → may post, read all responses and empty the queue, as all of it belongs to PUBLIC", async () => {
    const anon = database.as("anon");
    const id = await post("/anon", receiver.url, 5000, anon);
    await responseTo(id);
    expect(await anon`select from net._http_response where id = ${id}`).toHaveLength(1);
    await anon`delete from net.http_request_queue where id = -1`;
  });

  test("a post that is rolled back, also to a savepoint → not sent; the rest of the transaction is", async () => {
    await sql
      .begin(async (sql) => {
        await sql`select net.http_post(${`${receiver.url}/rolled-back`})`;
        throw new Error("roll back");
      })
      .catch(() => undefined);
    await sql.begin(async (sql) => {
      await sql
        .savepoint(async (sql) => {
          await sql`select net.http_post(${`${receiver.url}/savepoint`})`;
          throw new Error("roll back to it");
        })
        .catch(() => undefined);
      await sql`select net.http_post(${`${receiver.url}/kept`})`;
    });
    await receiver.of("/kept");
    await responseTo(await post("/one-batch-later"));
    expect(receiver.countOf("/rolled-back")).toBe(0);
    expect(receiver.countOf("/savepoint")).toBe(0);
  });

  test("a post in an open transaction → sent at its commit, after a later post that committed first", async () => {
    await sql.begin(async (transaction) => {
      await transaction`select net.http_post(${`${receiver.url}/long`})`;
      await responseTo(await post("/overtook"));
      expect(receiver.countOf("/long")).toBe(0);
    });
    await receiver.of("/long");
  });

  test("a URL without a scheme, with a space, empty, null or of an unknown scheme → raises in the caller's transaction", async () => {
    for (const url of ["example.com", "http://exa mple.com", "", null, "ws://127.0.0.1/", "mailto:a@b.example"]) {
      await expect(sql`select net.http_post(${url}::text)`).rejects.toThrow();
    }
  });

  test("an answer of 2xx → status, content type and content, null where there is none", async () => {
    const id = await post("/json");
    const row = await responseTo(id);
    expect(row).toMatchObject({ status_code: 200, content: '{"answer":42}', timed_out: false, error_msg: null });
    expect(row.content_type).toContain("application/json");
    expect(await responseTo(await post("/empty"))).toMatchObject({ status_code: 204, content: null });
  });

  test("no answer in time → no status, and an error that begins with the timeout, though the receiver got everything", async () => {
    const response = await responseTo(await post("/hanging", receiver.url, 2_000));
    expect(response.status_code).toBeNull();
    expect(response.error_msg).toMatch(/^Timeout of 2000 ms reached\./);
    expect([true, null]).toContain(response.timed_out);
    expect(receiver.countOf("/hanging")).toBe(1);
  });

  test("a post to a port where nothing listens → no status, and an error", async () => {
    const gone = startReceiver();
    await gone.stop();
    const row = await responseTo(await post("/", gone.url));
    expect(row.status_code).toBeNull();
    expect(row.error_msg).toMatch(/./);
    expect(row.timed_out).not.toBe(true);
  });

  test("the bytes of a post's body → the text of the jsonb, so that a signature of body::text verifies", async () => {
    const [body] = await sql<{ text: string }[]>`
      select text, net.http_post(${`${receiver.url}/body`}, body := text::jsonb)
      from (select '{"longer": [1.50, null], "b": "ü 漢", "a":   {}}'::jsonb::text as text) as bodies`;
    const request = await receiver.of("/body");
    expect(request.method).toBe("POST");
    expect(new TextDecoder().decode(request.body)).toBe(body?.text);
    expect(body?.text).toBe('{"a": {}, "b": "ü 漢", "longer": [1.50, null]}');
    expect(request.headers.get("content-type")).toBe("application/json");
  });

  test("header values that are null or empty → left out; numbers → sent as text; Content-Type → added", async () => {
    await sql`select net.http_post(${`${receiver.url}/headers`},
      headers := '{"X-Null": null, "X-Empty": "", "X-Number": 7, "X-Text": "text"}')`;
    const { headers } = await receiver.of("/headers");
    const sent = ["x-null", "x-empty", "x-number", "x-text", "content-type"].map((name) => headers.get(name));
    expect(sent).toEqual([null, null, "7", "text", "application/json"]);
  });

  test("a post with a Content-Type that is not exactly application/json → raises", async () => {
    const headers = sql.json({ "content-type": "application/json; charset=utf-8" });
    await expect(sql`select net.http_post(${receiver.url}, headers := ${headers})`).rejects.toThrow(/Content-Type/);
  });
});

// Each with the worker for itself.
describe("posts one after another", () => {
  test("the first post after another → ends the pause between batches early; the next one waits for its end", async () => {
    // A try during which this machine was busy says nothing; the worker's own pause is a second.
    await until("a try that shows both", async () => {
      await until("the worker is idle", async () => {
        const before = await lastResponseAt();
        await new Promise((resolve) => setTimeout(resolve, 2_200));
        return before === (await lastResponseAt());
      });
      const tag = crypto.randomUUID();
      await responseTo(await post(`/first-${tag}`));
      const second = performance.now();
      await responseTo(await post(`/second-${tag}`));
      const third = performance.now();
      await post(`/third-${tag}`);
      const cut = (await receiver.of(`/second-${tag}`)).at - second;
      const waited = (await receiver.of(`/third-${tag}`)).at - third;
      return cut < 500 && waited > 500 && waited < 1_500;
    });
  });

  test("net.worker_restart() → loses no post", async () => {
    expect([...(await sql`select net.worker_restart() as restarted`)]).toEqual([{ restarted: true }]);
    expect(await responseTo(await post("/after-restart"))).toMatchObject({ status_code: 204 });
  });

  test("a post while pg_net's tables are locked → the worker skips it, and sends it with the next one", async () => {
    const { admin } = database;
    await admin.begin(async (locking) => {
      await locking`lock table net._http_response in access exclusive mode`;
      await post("/passed-over");
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(receiver.countOf("/passed-over")).toBe(0);
    await post("/releases-it");
    await receiver.of("/passed-over");
  });

  test("one slow request → delays the responses of its whole batch", async () => {
    const ids = await sql.begin(async (sql) => {
      const [row] = await sql<{ slow: string; fast: string }[]>`
        select net.http_post(${`${receiver.url}/held`}) as slow, net.http_post(${`${receiver.url}/fast`}) as fast`;
      return row ?? { slow: "", fast: "" };
    });
    await receiver.of("/held");
    await receiver.of("/fast");
    expect((await sql`select from net._http_response where id = ${ids.fast}`).length).toBe(0);
    release();
    expect((await responseTo(ids.fast)).status_code).toBe(204);
    expect((await responseTo(ids.slow)).status_code).toBe(204);
  });
});
