/** Settings of the server, given on its command line at each start, so that a newer Keyframe's apply to older data. */
export function serverSettings(port: number, durable: boolean): string[] {
  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    // A socket's path has a length limit that a deep checkout exceeds; TCP is enough.
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "64MB",
    // There is no replica and no logical decoding here, so the least that keeps crash recovery.
    wal_level: "minimal",
    max_wal_senders: "0",
    // Compiling costs more than it saves on queries of a millisecond.
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    // The start is recognised by what the server says.
    lc_messages: "C",
    log_line_prefix: "",
    // synchronous_commit stays on: without fsync it is cheap, and a killed server then loses no commit.
    ...(durable ? {} : { fsync: "off", full_page_writes: "off" }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
