import { describe, expect, onTestFinished, test } from "vitest";
import { answer, receive } from "../../support/receiver/raw-receiver.ts";
import { delivery, makeAttempt } from "./fixture.ts";

/** A delivery to a receiver of this machine, by a name. */
const to = ({ port }: { port: number }) => delivery(`http://hooks.test:${port}/`);

const ok = () => receive((socket) => socket.write(answer("200 OK", "ok")));

// TLS, several addresses of a name, and connections that serve again: hosted-runtime.test.ts, on the Deno where it matters.

test("a receiver's name that does not resolve → dns", async () => {
  const attempt = makeAttempt({ resolve: () => Promise.reject(new Error("ENOTFOUND")) });
  expect(await attempt(delivery("http://hooks.test:3000/"))).toMatchObject({ status_code: null, error: "dns" });
});

test.each<[string, (connection: Deno.Conn) => void]>([
  ["at once", (connection) => connection.close()],
  ["after our first words", (connection) => void connection.read(new Uint8Array(1024)).then(() => connection.close())],
])("a handshake that the receiver breaks off %s → connection", async (_when, behave) => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => listener.close());
  void listener.accept().then(behave);
  const result = await makeAttempt()(delivery(`https://hooks.test:${listener.addr.port}/`));
  expect(result).toMatchObject({ status_code: null, error: "connection" });
});

describe("connections that stay open", () => {
  test("space for one idle connection, and two receivers → one of them needs a new connection", async () => {
    const [first, second] = [await ok(), await ok()];
    const attempt = makeAttempt({ maxIdle: 1 });
    for (const receiver of [first, second, first, second]) {
      expect(await attempt(to(receiver))).toMatchObject({ status_code: 200 });
    }
    expect([first.connections(), second.connections()]).toEqual([1, 2]);
  });

  test("an idle connection past its time → closed by us", async () => {
    const closed = Promise.withResolvers<void>();
    const receiver = await receive((socket) => {
      socket.on("close", () => closed.resolve());
      socket.write(answer("200 OK"));
    });
    const attempt = makeAttempt({ idleMs: 50 });
    expect(await attempt(to(receiver))).toMatchObject({ status_code: 200 });
    await closed.promise;
  });

  test("a receiver closes an idle connection → the next delivery opens another", async () => {
    const receiver = await receive((socket) => socket.end(answer("200 OK", "ok")));
    const attempt = makeAttempt();
    for (let i = 0; i < 5; i++) expect((await attempt(to(receiver))).status_code).toBe(200);
    expect(receiver.connections()).toBe(5);
  });

  test("a receiver closes after reading a second request → connection, and the request is not sent again", async () => {
    const receiver = await receive((socket) => {
      if (receiver.requests.length === 1) socket.write(answer("200 OK", "ok"));
      else socket.destroy();
    });
    const attempt = makeAttempt();
    expect(await attempt(to(receiver))).toMatchObject({ status_code: 200 });
    expect(await attempt(to(receiver))).toMatchObject({ status_code: null, error: "connection" });
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.connections()).toBe(1);
  });

  test("many deliveries at once → each on a connection of its own, which serves later ones too", async () => {
    const receiver = await receive((socket) => void setTimeout(() => socket.write(answer("200 OK", "ok")), 50));
    const attempt = makeAttempt();
    const many = () => Promise.all(Array.from({ length: 20 }, () => attempt(to(receiver))));
    for (const result of [...(await many()), ...(await many())]) expect(result).toMatchObject({ status_code: 200 });
    expect(receiver.connections()).toBe(20);
  });

  test("a body larger than the system accepts at once → sent in parts, and completely", async () => {
    const receiver = await receive((socket) => socket.write(answer("200 OK")));
    const body = "y".repeat(4_000_000);
    expect(await makeAttempt()({ ...to(receiver), body })).toMatchObject({ status_code: 200 });
    expect(receiver.requests[0]?.endsWith(`\r\n\r\n${body}`)).toBe(true);
  });

  test("an answer cut off after 64 KiB → its connection is not used again", async () => {
    const receiver = await receive((socket) => socket.write(answer("200 OK", "y".repeat(200_000))));
    const attempt = makeAttempt();
    expect([await attempt(to(receiver)), await attempt(to(receiver))]).toMatchObject([
      { status_code: 200 },
      { status_code: 200 },
    ]);
    expect(receiver.connections()).toBe(2);
  });
});
