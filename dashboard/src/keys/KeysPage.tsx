import { Anchor, Badge, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Key } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { NewButton, SmallButton } from "../ui/buttons.tsx";
import { unlessGone } from "../ui/errors.ts";
import { IconKey } from "../ui/icons.tsx";
import { dollars } from "../ui/money.ts";
import { EmptyState, PageHead, Unread } from "../ui/page-parts.tsx";
import { Time } from "../ui/Time.tsx";
import { FormWindow, type WindowProps } from "../ui/windows.tsx";
import { NewKey } from "./NewKey.tsx";
import { rightName } from "./rights.ts";

export function Component() {
  const keyframe = useKeyframe();
  const keys = useQuery({ queryKey: ["keys"], queryFn: ({ signal }) => keyframe.keys.list({ signal }) });
  const [isNew, { open, close }] = useDisclosure(false);
  const create = <NewButton onClick={open}>New key</NewButton>;
  const isAny = (keys.data?.length ?? 0) > 0;
  return (
    <>
      <PageHead
        title="Keys"
        text="An agent or a script with a key works for you, as far as you allow."
        actions={isAny ? create : null}
      />
      <Unread query={keys} what="your keys" heights={[96, 96]} />
      {keys.data?.length === 0 && (
        <EmptyState
          Icon={IconKey}
          title="No keys yet"
          text="Create one for Claude Code, Cursor, VS Code, Codex or your own script. What to paste there comes with it."
          action={create}
        />
      )}
      <Stack component="ul" gap="xs" className="plain-list" aria-label="Keys">
        {keys.data?.map((one) => (
          <KeyCard key={one.keyId} of={one} />
        ))}
      </Stack>
      {isAny && (
        <Text size="sm" c="dimmed" mt="lg">
          How to use one:{" "}
          <Anchor component={Link} to="/docs/agents" inherit underline="always">
            Agents
          </Anchor>
        </Text>
      )}
      <NewKey isOpen={isNew} onClose={close} />
    </>
  );
}

const hasEnded = ({ expiresAt }: Key) => expiresAt !== null && Date.parse(expiresAt) <= Date.now();

function KeyCard({ of: one }: { of: Key }) {
  const { keyId, name, may, dayLimitMicros, createdAt, expiresAt, lastUsedAt } = one;
  const [isRevoking, { open, close }] = useDisclosure(false);
  const isOver = hasEnded(one);
  return (
    <Card component="li" withBorder padding="md">
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Stack gap={4} miw={0}>
          <Group gap="xs">
            <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
              {name}
            </Title>
            <Badge variant="light" color={isOver ? "gray" : "iris"}>
              {isOver ? "Ended" : rightName(may)}
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
                , {isOver ? "ended" : "ends"} <Time iso={expiresAt} />
              </>
            )}
            , {lastUsedAt === null ? "never used" : "last used "}
            {lastUsedAt !== null && <Time iso={lastUsedAt} />}
          </Text>
        </Stack>
        {!isOver && (
          <SmallButton flex="none" onClick={open}>
            Revoke
          </SmallButton>
        )}
      </Group>
      <RevokeKey of={one} isOpen={isRevoking} onClose={close} />
    </Card>
  );
}

function RevokeKey({ of: { keyId, name }, isOpen, onClose }: WindowProps & { of: Key }) {
  const keyframe = useKeyframe();
  const revoke = useMutation({
    mutationFn: async () => void (await keyframe.keys.revoke(keyId).catch(unlessGone)),
    onSuccess: onClose,
  });
  return (
    <FormWindow
      title="Revoke key?"
      submit="Revoke key"
      cancel="Keep key"
      failed="Could not revoke the key"
      isHarmful
      isOpen={isOpen}
      onClose={onClose}
      saving={revoke}
      onSubmit={() => revoke.mutate()}
    >
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        What uses “{name}” is refused from now on. What it has started goes on.
      </Text>
    </FormWindow>
  );
}
