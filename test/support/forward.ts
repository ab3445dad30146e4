/** Postgres at another port: as one that comes back, or a pooler in between. */
type Forward = Disposable & {
  url: string;
  /** Closes the connections that are open: now, or when the client sends something next. */
  cut(when: "now" | "at the next call"): void;
  /** Passes nothing on any more and closes nothing: a machine without power, or a process that is frozen. */
  stall(): void;
};

/** Passes connections on to the server of `databaseUrl`. */
export function forward(databaseUrl: string, port = 0): Forward {
  const target = new URL(databaseUrl);
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  const open = new Set<Connection>();
  void (async () => {
    for await (const near of listener) {
      const far = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
      const connection = pass(near, far);
      open.add(connection);
    }
  })();
  return {
    url: Object.assign(new URL(databaseUrl), { port: String(listener.addr.port) }).href,
    cut: (when) => {
      for (const connection of open) connection.cut(when);
      open.clear();
    },
    stall: () => {
      for (const connection of open) connection.stall();
    },
    [Symbol.dispose]() {
      listener.close();
      for (const connection of open) connection.cut("now");
    },
  };
}

type Connection = Pick<Forward, "cut" | "stall">;

function pass(near: Deno.Conn, far: Deno.Conn): Connection {
  let isCut = false;
  let isStalled = false;
  function close(): void {
    for (const end of [near, far]) {
      try {
        end.close();
      } catch {
        // It is closed already.
      }
    }
  }
  const passing = () =>
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (isCut) throw new Error("It is cut.");
        if (!isStalled) controller.enqueue(chunk);
      },
    });
  const onlyData = { preventClose: true, preventAbort: true };
  const asked = near.readable.pipeThrough(passing()).pipeTo(far.writable, onlyData);
  const answered = far.readable.pipeThrough(passing()).pipeTo(near.writable, onlyData);
  for (const way of [asked, answered]) {
    void way
      .catch(() => undefined)
      .finally(() => {
        if (!isStalled) close();
      });
  }
  return {
    cut: (when) => {
      isCut = true;
      isStalled = false;
      if (when === "now") close();
    },
    stall: () => {
      isStalled = true;
    },
  };
}
