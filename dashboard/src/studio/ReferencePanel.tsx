import { Alert, Button, Group, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { Project } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { errorSentence } from "../ui/errors.ts";
import { useChangeProject } from "../projects/project-queries.ts";
import { useReferenceAddress, useUploadReference } from "./reference-image.ts";
import { ReferenceDropzone } from "./ReferenceDropzone.tsx";
import classes from "./reference.module.css";

/** The project's reference image. */
export function ReferencePanel({ project: { projectId, referenceImagePath: path } }: { project: Project }) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const upload = useUploadReference(projectId);
  const change = useChangeProject(projectId);
  const chooser = useRef<HTMLButtonElement>(null);
  const open = useRef<() => void>(null);
  const { variables: file, isPending } = upload;
  const error = upload.error ?? change.error;
  const problem = refusal ?? (error === null ? null : errorSentence(error));
  const remove = () => {
    change.mutate({ change: { referenceImagePath: null } });
    chooser.current?.focus(); // the button that was used is gone
  };
  const forgive = () => {
    setRefusal(null);
    upload.reset();
    change.reset();
  };
  const choice =
    isPending && file !== undefined ? <UploadedPicture file={file} /> : path && <ReferencePicture path={path} />;
  return (
    <Stack gap={6} component="section" aria-labelledby="reference">
      <Text size="sm" fw={600} id="reference">
        Reference image
      </Text>
      <ReferenceDropzone
        isBusy={isPending}
        openRef={open}
        onFile={(given) => {
          setRefusal(null);
          upload.mutate(given);
        }}
        onRefused={setRefusal}
      >
        {choice}
      </ReferenceDropzone>
      <Group gap="xs" mih={30} wrap="nowrap">
        {isPending && (
          <>
            <BusyButton
              size="xs"
              variant="default"
              style={{ flexShrink: 0 }}
              isOff={!upload.canStop}
              onClick={upload.stop}
            >
              Cancel upload
            </BusyButton>
            <UploadProgress fraction={upload.fraction} bytes={file?.size ?? 0} />
          </>
        )}
        {!isPending && (
          <Button ref={chooser} size="xs" variant="default" onClick={() => open.current?.()}>
            {path === null ? "Choose image" : "Replace"}
          </Button>
        )}
        {path !== null && !isPending && (
          <Button size="xs" variant="default" onClick={remove}>
            Remove
          </Button>
        )}
      </Group>
      {problem !== null && (
        <Alert color="red" role="alert" p="sm" withCloseButton closeButtonLabel="Close" onClose={forgive}>
          {problem}
        </Alert>
      )}
    </Stack>
  );
}

/** Shows the local file while it uploads. */
function UploadedPicture({ file }: { file: Blob }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return address === undefined ? null : <img className={classes.picture} src={address} alt="Uploading" />;
}

/** A reference image from Storage. */
function ReferencePicture({ path }: { path: string }) {
  const { data: address, isPending } = useReferenceAddress(path);
  const [failed, setFailed] = useState<string>();
  if (isPending) return <Skeleton h="100%" radius={0} />;
  if (address == null || failed === address) {
    return (
      <Text size="sm" ta="center" p="md">
        Could not load the image. It may have been removed: choose another.
      </Text>
    );
  }
  return <img className={classes.picture} src={address} alt="Reference" onError={() => setFailed(address)} />;
}

type Props = {
  /** From 0 to 1. */
  fraction: number;
  bytes: number;
};

/** At 100 % the service still checks and stores the image. */
function UploadProgress({ fraction, bytes }: Props) {
  const percent = Math.floor(fraction * 100);
  return (
    <Group gap="xs" wrap="nowrap" className={classes.progress}>
      <Progress.Root size="sm" className={classes.bar}>
        <Progress.Section value={percent} aria-label="Upload progress" />
      </Progress.Root>
      <Text size="xs" c="dimmed" className={classes.percent}>
        {percent === 100 ? "Checking…" : `${percent} % of ${sizeWords(bytes)}`}
      </Text>
    </Group>
  );
}

const sizeWords = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
