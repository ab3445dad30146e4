type Lines = { where: string; text: string };

/** What to paste for each program. `functionsUrl` ends with /functions/v1. */
export function connectLines(functionsUrl: string, key: string): Record<string, Lines> {
  const url = `${functionsUrl}/keyframe-mcp`;
  const headers = { Authorization: `Bearer ${key}` };
  const json = (value: object) => JSON.stringify(value, null, 2);
  return {
    "Claude Code": {
      where: "In a terminal:",
      text: `claude mcp add --transport http keyframe ${url} --header "Authorization: Bearer ${key}"`,
    },
    Cursor: {
      where: "In ~/.cursor/mcp.json:",
      text: json({ mcpServers: { keyframe: { url, headers } } }),
    },
    "VS Code": {
      where: "In mcp.json, which the command “MCP: Open User Configuration” opens:",
      text: json({ servers: { keyframe: { type: "http", url, headers } } }),
    },
    Codex: {
      where: "In a terminal; put the first line into your shell's profile, too:",
      text: `export KEYFRAME_KEY=${key}\ncodex mcp add keyframe --url ${url} --bearer-token-env-var KEYFRAME_KEY`,
    },
    curl: {
      where: "In a terminal:",
      text: `curl ${functionsUrl}/api/projects -H "Authorization: Bearer ${key}"`,
    },
  };
}
