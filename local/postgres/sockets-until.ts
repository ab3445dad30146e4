import { Socket } from "node:net";

type Where = { host: string[]; port: number[]; path?: string | false };

/**
 * Options of postgres.js with which no connection is opened after `ended`. By itself the driver forgets to give up a connection that
 * waits to connect again when its client is ended: it connects afterwards, and stays for good.
 */
export function socketsUntil(ended: AbortSignal): { socket(where: Where): Socket } {
  return {
    // What the driver writes before the socket is connected waits in it.
    socket({ host: [host = ""], port: [port = 0], path }) {
      const socket = Object.assign(new Socket(), { host, port });
      // With an error: the driver would try again for a query that waits.
      const giveUp = () => socket.destroy(new Error("The client has ended."));
      if (ended.aborted) setTimeout(giveUp);
      else {
        // The driver ends only what is open; what is about to be would be opened, and stay.
        ended.addEventListener("abort", giveUp, { once: true });
        for (const event of ["connect", "close"]) socket.once(event, () => ended.removeEventListener("abort", giveUp));
        if (path) socket.connect(path);
        else socket.connect(port, host);
      }
      return socket;
    },
  };
}
