/** A receiver on loopback that answers as told; `turn` counts its requests from 1. */
export function serveAnswer(answer: (turn: number) => Response): { url: string; stop: () => Promise<void> } {
  let turn = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    await request.body?.cancel();
    turn++;
    return answer(turn);
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}
