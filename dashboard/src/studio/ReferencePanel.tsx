import { Alert, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { errorSentence } from "../ui/error-sentence.ts";
import { ReferencePicture } from "./ReferencePicture.tsx";
import classes from "./reference.module.css";
import { UploadProgress } from "./UploadProgress.tsx";
import type { ReferenceImage } from "./use-reference-image.ts";
import { useUploadReference } from "./use-upload-reference.ts";

const ReferenceDropzone = lazy(() => import("./ReferenceDropzone.tsx"));

/** The image whose look the frames follow: dropped here, replaced, removed. */
export function ReferencePanel({ image: { path, choose } }: { image: ReferenceImage }) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const upload = useUploadReference(choose);
  const chooser = useRef<HTMLButtonElement>(null);
  const open = useRef<() => void>(null);
  const { variables: file, isPending } = upload;
  const problem = refusal ?? (upload.error === null ? null : errorSentence(upload.error));
  const remove = () => {
    choose(null);
    chooser.current?.focus(); // the button that was used is gone
  };
  const forgive = () => {
    setRefusal(null);
    upload.reset();
  };
  const choice =
    isPending && file !== undefined ? <UploadedPicture file={file} /> : path && <ReferencePicture path={path} />;
  return (
    <Stack gap={6} component="section" aria-labelledby="reference">
      <div>
        <Text size="sm" fw={600} id="reference">
          Reference image
        </Text>
        <Text size="xs" c="dimmed">
          The frames follow its look. You can do without.
        </Text>
      </div>
      <Suspense fallback={<Skeleton className={classes.zone} />}>
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
      </Suspense>
      <Group gap="xs" mih={30} wrap="nowrap">
        {isPending && (
          <>
            <Button size="xs" variant="default" style={{ flexShrink: 0 }} onClick={upload.stop}>
              Stop the upload
            </Button>
            <UploadProgress fraction={upload.fraction} bytes={file?.size ?? 0} />
          </>
        )}
        {!isPending && (
          <Button ref={chooser} size="xs" variant="default" onClick={() => open.current?.()}>
            {path === null ? "Choose an image" : "Replace"}
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

/** Shown from the person's own device while it is on its way. */
function UploadedPicture({ file }: { file: Blob }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return address === undefined ? null : <img className={classes.picture} src={address} alt="Being uploaded" />;
}
