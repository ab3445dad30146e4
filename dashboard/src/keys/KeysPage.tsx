import { Badge, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { Key } from "../../../client/index.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useKeyframe } from "../services.ts";
import { NewButton, SmallButton } from "../ui/Buttons.tsx";
import { unlessGone } from "../ui/errors.ts";
import { GuideLink } from "../ui/GuideLink.tsx";
import { IconKey } from "../ui/Icons.tsx";
import { dollars } from "../ui/money.ts";
import { ListPage } from "../ui/PageParts.tsx";
import { Time } from "../ui/Time.tsx";
import { DeleteDialog, type DialogProps, useDialog } from "../ui/Dialogs.tsx";
import { NewKey, rightName } from "./NewKey.tsx";

export default function KeysPage() {
  const keyframe = useKeyframe();
  const keys = useQuery({ queryKey: queryKeys.apiKeys, queryFn: ({ signal }) => keyframe.keys.list({ signal }) });
  const creating = useDialog();
  const isEmpty = keys.data?.length === 0;
  return (
    <ListPage
      title="Keys"
      text="Let an agent or a script act for you, with the rights that you choose."
      query={keys}
      what="your keys"
      heights={[96, 96]}
      isEmpty={isEmpty}
      create={<NewButton onClick={creating.open}>New key</NewButton>}
      empty={{
        Icon: IconKey,
        title: "No keys yet",
        text: "Create one for Claude Code, Cursor, VS Code, Codex or your own script. You then get the lines to paste into it.",
      }}
    >
      <Stack component="ul" gap="xs" className="plain-list" aria-label="Keys">
        {keys.data?.map((one) => (
          <KeyCard key={one.keyId} {...one} />
        ))}
      </Stack>
      {keys.data !== undefined && !isEmpty && (
        <Text size="sm" c="dimmed">
          How to use one: <GuideLink path="docs/agents.md" />
        </Text>
      )}
      <NewKey {...creating.dialog} />
    </ListPage>
  );
}

function KeyCard({ keyId, name, may, dayLimitMicros, createdAt, expiresAt, lastUsedAt }: Key) {
  const revoking = useDialog();
  const isOver = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  return (
    <Card component="li" withBorder padding="md">
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Stack gap={4} miw={0}>
          <Group gap="xs">
            <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
              {name}
            </Title>
            <Badge variant="light" color={isOver ? "gray" : "iris"}>
              {isOver ? "Expired" : rightName(may)}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed" ff="monospace">
            {keyId}…
          </Text>
          <Text size="sm" c="dimmed">
            {dayLimitMicros !== null && `At most ${dollars(dayLimitMicros)} a day. `}
            Created <Time iso={createdAt} />
            {expiresAt !== null && (
              <>
                , {isOver ? "expired" : "expires"} <Time iso={expiresAt} />
              </>
            )}
            , {lastUsedAt === null ? "never used" : "last used "}
            {lastUsedAt !== null && <Time iso={lastUsedAt} />}
          </Text>
        </Stack>
        {!isOver && (
          <SmallButton flex="none" onClick={revoking.open}>
            Revoke
          </SmallButton>
        )}
      </Group>
      <RevokeKey {...{ keyId, name }} {...revoking.dialog} />
    </Card>
  );
}

function RevokeKey({ keyId, name, ...opened }: DialogProps & Pick<Key, "keyId" | "name">) {
  const keyframe = useKeyframe();
  const revoke = useMutation({
    mutationFn: async () => void (await keyframe.keys.revoke(keyId).catch(unlessGone)),
    onSuccess: opened.onClose,
  });
  return (
    <DeleteDialog verb="Revoke" noun="key" {...opened} removal={revoke}>
      Requests with “{name}” will be refused. Takes it has started will continue.
    </DeleteDialog>
  );
}
