import { Checkbox, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useOnce } from "../queries/use-once.ts";
import { useKeyframe } from "../services.ts";
import { IconEye, IconEyeOff } from "../ui/Icons.tsx";
import { Panel } from "../ui/PageParts.tsx";
import { type DialogProps, FormDialog, useDialog, useTyped } from "../ui/Dialogs.tsx";
import { exactTime } from "../ui/format-time.ts";
import { HowToVerify, SecretText } from "./SecretText.tsx";
import { SmallButton } from "../ui/Buttons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";

/** Shows the secret, which is read on request and dropped when hidden. */
export function SecretPanel({ webhookId }: { webhookId: string }) {
  const keyframe = useKeyframe();
  const [secret, show] = useState<string | null>(null);
  const reveal = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: () => keyframe.webhooks.secret(webhookId),
    gcTime: 0,
    onSuccess: (answer) => show(answer.secret),
  });
  const hide = () => {
    show(null);
    reveal.reset();
  };
  const rotating = useDialog();
  return (
    <Panel title="Secret">
      <Stack>
        <Text size="sm" c="dimmed">
          Signs each request so that your server can verify the sender.
        </Text>
        {secret !== null && <SecretText secret={secret} />}
        <ErrorNotice title="Could not load the secret" error={reveal.error} />
        <Group gap="xs">
          <SmallButton
            isBusy={reveal.isPending}
            aria-expanded={secret !== null}
            Icon={secret === null ? IconEye : IconEyeOff}
            onClick={secret === null ? () => reveal.mutate() : hide}
          >
            {secret === null ? "Show secret" : "Hide secret"}
          </SmallButton>
          <SmallButton onClick={rotating.open}>Rotate secret…</SmallButton>
        </Group>
      </Stack>
      <RotateDialog webhookId={webhookId} {...rotating.dialog} onRotated={show} />
    </Panel>
  );
}

type Props = DialogProps & { webhookId: string; onRotated: (secret: string) => void };

const MAX_HOURS = 72;
const HOUR_MS = 3_600_000;

/** A form for the overlap, then the new secret. An overlap of zero needs a confirmation: a server with the old secret then fails. */
function RotateDialog({ webhookId, onRotated, ...opened }: Props) {
  const rotate = useOnce(
    (keyframe, overlapHours: number, once) => keyframe.webhooks.rotate(webhookId, { overlapHours }, once),
    ({ secret }) => onRotated(secret), // even if the dialog was closed meanwhile
  );
  const [{ given, isSure }, set, dialog] = useTyped({ given: "24", isSure: false }, opened);
  const hours = given === "" ? Number.NaN : Number(given);
  const isValid = Number.isInteger(hours) && hours >= 0 && hours <= MAX_HOURS;
  const isAtOnce = hours === 0;
  const done = rotate.data !== undefined && (
    <>
      <Text size="sm" role="status">
        The new secret now signs all requests.{" "}
        {rotate.variables === 0
          ? "The old secrets are revoked: your server rejects requests until it has this one."
          : `The old secret also signs for ${rotate.variables} hours: give your server the new one before then.`}
      </Text>
      <SecretText secret={rotate.data.secret} />
      <HowToVerify />
    </>
  );
  return (
    <FormDialog
      title={done ? "New secret" : "Rotate secret"}
      size="lg"
      submit="Rotate"
      failed="Could not rotate the secret"
      {...dialog}
      saving={rotate}
      done={done}
      canSubmit={isValid && (!isAtOnce || isSure)}
      isHarmful={isAtOnce}
      onSubmit={() => rotate.mutate(hours)}
    >
      <TextInput
        label="Overlap in hours"
        description={`How long both secrets sign: 0 to ${MAX_HOURS}.`}
        type="number"
        min={0}
        max={MAX_HOURS}
        value={given}
        onChange={(event) => set({ given: event.currentTarget.value })}
        error={isValid ? null : `Enter a whole number from 0 to ${MAX_HOURS}.`}
        data-autofocus
      />
      {isValid && !isAtOnce && (
        <Text size="sm">
          Each request carries both signatures until {exactTime(new Date(Date.now() + hours * HOUR_MS).toISOString())}.
          Give your server the new secret before then, and no event is lost.
        </Text>
      )}
      {isAtOnce && (
        <>
          <Text size="sm">
            Use this for a leaked secret: all old secrets are revoked at once. Your server rejects requests until it has
            the new one, and those events are retried later.
          </Text>
          <Checkbox
            label="Revoke every old secret now"
            checked={isSure}
            onChange={(event) => set({ isSure: event.currentTarget.checked })}
          />
        </>
      )}
    </FormDialog>
  );
}
