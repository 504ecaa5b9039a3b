// Downloads props.value {name, data (base64)} as a file as soon as it arrives.
import {bytes, download} from './shared.js';

export default function start({props, watch}) {
  watch('value', () => {
    const file = props.value;
    if (!file || !file.data) return;
    download(URL.createObjectURL(new Blob([bytes(file.data)])), file.name);
  });
}
