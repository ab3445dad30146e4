import { Text } from "@mantine/core";
import { Time } from "../ui/Time.tsx";
import { attemptWords } from "./attempt-words.ts";
import type { EndpointHealth } from "./read-health.ts";

/** When something was last sent, and what came back; undefined while that is not known. */
export function LastSent({ last }: { last: EndpointHealth["last"] | undefined }) {
  return (
    <Text size="sm" c="dimmed">
      {last === undefined && "\u00a0"}
      {last === null && "Nothing was sent yet"}
      {last && (
        <>
          Last sent <Time iso={last.at} />:{" "}
          {attemptWords({ statusCode: last.status_code, error: last.error }).short.toLowerCase()}
        </>
      )}
    </Text>
  );
}
