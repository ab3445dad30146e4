import http from "node:http";
import https from "node:https";

/** How long an unused connection is kept: less than the five seconds after which many servers close theirs. */
const IDLE_MS = 4_000;

/** Unused connections kept in all. Each is a file descriptor, and every delivery may be to another host. */
const MOST_IDLE = 400;

/** `ca`: certificates (PEM) trusted in place of the usual ones; for tests. */
export type AgentSettings = { idleMs?: number; mostIdle?: number; ca?: string };

/**
 * The connections of a process, by protocol. How many are in use is bounded by how many requests are under way;
 * what is bounded here is what stays open between them.
 */
export function createAgents({ idleMs = IDLE_MS, mostIdle = MOST_IDLE, ca }: AgentSettings = {}) {
  const keep = { keepAlive: true, timeout: idleMs };
  return {
    "http:": bounded(new http.Agent(keep), mostIdle),
    "https:": bounded(new https.Agent({ ...keep, ...(ca === undefined ? {} : { ca }) }), mostIdle),
  };
}

function bounded<Agent extends http.Agent>(agent: Agent, mostIdle: number): Agent {
  const keepSocketAlive = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const idle = Object.values(agent.freeSockets).reduce((count, sockets) => count + (sockets?.length ?? 0), 0);
    // False makes the agent close the connection.
    return idle < mostIdle && keepSocketAlive(socket);
  };
  return agent;
}
