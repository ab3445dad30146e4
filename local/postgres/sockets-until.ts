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
      if (ended.aborted) setTimeout(() => socket.destroy());
      else if (path) socket.connect(path);
      else socket.connect(port, host);
      return socket;
    },
  };
}
