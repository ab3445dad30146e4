import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useServices } from "../app/services-context.ts";
import { useSession } from "../session/session-context.ts";
import { CodeBlock } from "../ui/CodeBlock.tsx";
import { useDocs } from "./docs-context.ts";
import { LanguageChoice } from "./LanguageChoice.tsx";
import { clientCode, TOKEN_BY_SUPABASE_JS, tokenByCurl } from "./token-code.ts";

/** The address, and how to get a token: what every example below stands on. */
export function FirstCall() {
  const { config } = useServices();
  const { session } = useSession();
  const { functionsUrl, language } = useDocs();
  return (
    <Paper component="section" withBorder p="md" aria-label="Before the first call">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h4">
            Before the first call
          </Title>
          <LanguageChoice label="Language of all examples" />
        </Group>
        <Text size="sm">
          Paths begin at <code style={{ overflowWrap: "anywhere" }}>{functionsUrl}</code>. Every answer is{" "}
          <code>{"{ success, data, error }"}</code>; the codes of errors are stable. Identifiers are UUIDs, times ISO
          8601 in UTC.
        </Text>
        {language === "curl" ? (
          <CodeBlock
            label="A token in a shell, for an hour"
            code={tokenByCurl(config, session?.user.email ?? "you@example.com")}
          />
        ) : (
          <>
            <CodeBlock label="A token in an app, by supabase-js" code={TOKEN_BY_SUPABASE_JS} />
            <CodeBlock
              label="Or the typed client (client/ in the repository), which asks for it"
              code={clientCode(config)}
            />
          </>
        )}
      </Stack>
    </Paper>
  );
}
