import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconEye, IconEyeOff } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useKeyframe, useRepeatKey } from "../services.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { Panel } from "../ui/page-parts.tsx";
import { exactTime } from "../ui/format-time.ts";
import { HowToVerify } from "./HowToVerify.tsx";
import { SecretText } from "./SecretText.tsx";

/** Shows the secret on request. */
export function SecretPanel({ webhookId }: { webhookId: string }) {
  const { secret, reveal, show, hide } = useSecret(webhookId);
  const [isRotating, { open, close }] = useDisclosure(false);
  return (
    <Panel title="Secret">
      <Stack>
        <Text size="sm" c="dimmed">
          Signs each request so that your server can verify the sender.
        </Text>
        {secret !== null && <SecretText secret={secret} />}
        {reveal.error !== null && <ErrorNotice title="Could not load the secret" error={reveal.error} />}
        <Group gap="xs">
          <BusyButton
            variant="default"
            size="xs"
            isBusy={reveal.isPending}
            aria-expanded={secret !== null}
            leftSection={secret === null ? <IconEye size={16} aria-hidden /> : <IconEyeOff size={16} aria-hidden />}
            onClick={secret === null ? () => reveal.mutate() : hide}
          >
            {secret === null ? "Show secret" : "Hide secret"}
          </BusyButton>
          <Button variant="default" size="xs" onClick={open}>
            Rotate…
          </Button>
        </Group>
      </Stack>
      <RotateWindow webhookId={webhookId} isOpen={isRotating} onClose={close} onRotated={show} />
    </Panel>
  );
}

type Props = { webhookId: string; isOpen: boolean; onClose: () => void; onRotated: (secret: string) => void };

function RotateWindow({ webhookId, isOpen, onClose, onRotated }: Props) {
  const rotate = useRotateSecret(webhookId);
  const close = () => {
    rotate.reset();
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={rotate.data === undefined ? "Rotate secret" : "New secret"} size="lg">
      {rotate.data === undefined ? (
        <RotateForm
          isBusy={rotate.isPending}
          error={rotate.error}
          onRotate={(hours) => rotate.mutate(hours, { onSuccess: ({ secret }) => onRotated(secret) })}
          onCancel={close}
        />
      ) : (
        <Stack>
          <Text size="sm" role="status">
            It signs all requests now.{" "}
            {rotate.variables === 0
              ? "The old secrets are revoked: your server rejects requests until it has this one."
              : `The old secret also signs for ${rotate.variables} hours: give your server the new one before then.`}
          </Text>
          <SecretText secret={rotate.data.secret} />
          <HowToVerify />
          <Group justify="flex-end">
            <Button onClick={close} data-autofocus>
              Done
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

const USUAL_HOURS = 24;
const MAX_HOURS = 72;
const HOUR_MS = 3_600_000;

type RotateFormProps = {
  isBusy: boolean;
  error: unknown;
  onRotate: (overlapHours: number) => void;
  onCancel: () => void;
};

/** Asks for the overlap. Zero needs a confirmation: it breaks a server with the old secret. */
function RotateForm({ isBusy, error, onRotate, onCancel }: RotateFormProps) {
  const [given, setGiven] = useState(String(USUAL_HOURS));
  const [isSure, setSure] = useState(false);
  const hours = given === "" ? Number.NaN : Number(given);
  const isValid = Number.isInteger(hours) && hours >= 0 && hours <= MAX_HOURS;
  const isAtOnce = hours === 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isValid && (!isAtOnce || isSure)) onRotate(hours);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Overlap in hours"
          description={`How long both secrets sign: 0 to ${MAX_HOURS}.`}
          type="number"
          min={0}
          max={MAX_HOURS}
          value={given}
          onChange={(event) => setGiven(event.currentTarget.value)}
          error={isValid ? null : `A whole number from 0 to ${MAX_HOURS}.`}
          data-autofocus
        />
        {isValid && !isAtOnce && (
          <Text size="sm">
            Each request carries both signatures until {exactTime(new Date(Date.now() + hours * HOUR_MS).toISOString())}
            . Give your server the new secret before then, and no event is lost.
          </Text>
        )}
        {isAtOnce && (
          <>
            <Text size="sm">
              For a leaked secret. All old secrets are revoked now: your server rejects requests until it has the new
              one, and those events are retried later.
            </Text>
            <Checkbox
              label="Revoke every old secret now"
              checked={isSure}
              onChange={(event) => setSure(event.currentTarget.checked)}
            />
          </>
        )}
        {error !== null && <ErrorNotice title="Could not rotate the secret" error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <BusyButton
            type="submit"
            {...(isAtOnce ? { color: "red.9" } : {})}
            isBusy={isBusy}
            isOff={!isValid || (isAtOnce && !isSure)}
          >
            Rotate
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}

/** The secret, read on request and dropped when hidden. */
function useSecret(webhookId: string) {
  const keyframe = useKeyframe();
  const [secret, show] = useState<string | null>(null);
  const reveal = useMutation({
    mutationFn: () => keyframe.webhooks.secret(webhookId),
    gcTime: 0,
    onSuccess: (answer) => show(answer.secret),
  });
  const hide = () => {
    show(null);
    reveal.reset();
  };
  return { secret, reveal, show, hide };
}

function useRotateSecret(webhookId: string) {
  const keyframe = useKeyframe();
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: (overlapHours: number) =>
      keyframe.webhooks.rotate(webhookId, { overlapHours }, { idempotencyKey: keyFor(overlapHours) }),
    gcTime: 0,
    onSuccess: forget,
  });
}
